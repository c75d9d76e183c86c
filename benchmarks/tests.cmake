# Tests of the programs here: that they run and measure, and what the report makes of results.
