#!/bin/sh
# Prints the table of test accuracies in the README, as Markdown: what each update scheme reaches on Fashion-MNIST with
# 8 ranks of 32 samples each, as the mean over seeds.
#
#   sh examples/fashion_mnist/reproduce.sh [fashion_mnist]      by default build/examples/fashion_mnist
#   SEEDS="1 2 3" EPOCHS=5                                      from the environment
#
# Ranks are threads, and the link between them is not modelled: only accuracies matter here.
set -eu

program=${1:-build/examples/fashion_mnist}
seeds=${SEEDS:-1 2 3}
epochs=${EPOCHS:-5}
json=$(mktemp)
trap 'rm -f "$json"' EXIT
export OPENBLAS_NUM_THREADS=1

reference=

# row "name" "what is special" option...: the mean accuracy after the last epoch, its smallest and greatest value, and
# how many points it is from the first row.
row() {
  name=$1 settings=$2
  shift 2
  accuracies=
  for seed in $seeds; do
    "$program" --communicator threads --ranks 8 --batch 32 --link-gbit 0 --epochs "$epochs" --seed "$seed" "$@" \
      --json "$json" >/dev/null
    # The list of one object, without white space, up to the last number in "test_accuracy":[…].
    accuracy=$(tr -d ' \n' <"$json" | sed -n 's/.*"test_accuracy":\[\([^]]*,\)\{0,1\}\([0-9.e-]*\)\].*/\2/p')
    accuracies="$accuracies $accuracy"
  done
  # shellcheck disable=SC2086
  set -- $(printf '%s\n' $accuracies | awk '
    { sum += $1; if (NR == 1 || $1 < least) least = $1; if (NR == 1 || $1 > most) most = $1 }
    END { printf "%.2f %.2f %.2f\n", 100 * sum / NR, 100 * least, 100 * most }')
  reference=${reference:-$1}
  difference=$(awk -v a="$1" -v b="$reference" 'BEGIN { printf "%+.2f", a - b }')
  echo "| $name | $settings | $1 % | $2 … $3 | $difference |"
}

echo "8 ranks x 32 samples, $epochs epochs, cosine schedule, seeds $seeds"
echo
echo "| scheme | hyper-parameters | test accuracy | over seeds | points from synchronous |"
echo "|---|---|---|---|---|"
same="learning rate 0.1, momentum 0.9"
row "synchronous" "$same" --scheme synchronous
for delay in 1 2 4; do
  row "look-ahead, local gradient, delay $delay" "$same" --scheme lookahead --predictor local-gradient --delay $delay
done
row "look-ahead, blended gradient (own share 0.2)" "$same" --scheme lookahead --predictor blended-gradient
row "look-ahead, previous mean" "$same" --scheme lookahead --predictor no-prediction
row "look-ahead, exponential smoothing" "$same" --scheme lookahead --predictor exponential-smoothing
row "look-ahead, adaptive smoothing" "$same" --scheme lookahead --predictor adaptive-exponential-smoothing
row "OD-SGD, 20 steps of warm-up" "$same" --scheme od-sgd
row "DaSGD, period 4, delay 1, own share 0.25" "$same" --scheme dasgd
row "local SGD, period 4" "$same" --scheme local-sgd
for predictor in linear-extrapolation no-prediction exponential-smoothing adaptive-exponential-smoothing \
  delay-compensation; do
  row "pseudo-synchronous, $predictor" "$same" --scheme pseudo-synchronous --predictor $predictor
done
own="learning rate 0.05, momentum 0.9"
for predictor in linear-extrapolation no-prediction exponential-smoothing adaptive-exponential-smoothing \
  delay-compensation; do
  row "pseudo-synchronous, $predictor" "$own" --scheme pseudo-synchronous --predictor $predictor --learning-rate 0.05
done
row "synchronous" "$own" --scheme synchronous --learning-rate 0.05
