#pragma once

/// One function per source, which registers what the source is named after.
namespace suite {

void gradient_averaging();
void lookahead_averaging();
void local_rule_averaging();
void weight_averaging();
void custom_policies();
void checked();

}  // namespace suite
