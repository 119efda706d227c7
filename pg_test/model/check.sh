#!/bin/bash
# Checks every model here with spin: the design must have no error in any state, and each of its
# mutants, named in the model's head, must be found out. Arguments: models, without .pml; none: all.
set -uo pipefail
cd "$(dirname "$0")" || exit 1

for tool in spin gcc; do
  command -v "$tool" >/dev/null || { echo "$tool is missing: apt-get install $tool" >&2; exit 1; }
done

models=$PWD
work=$(mktemp -d "${TMPDIR:-/tmp}/pg_lease-model-XXXXXX")
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

# Searches every state of a model, changed as the other arguments say. Prints what spin says. A
# mutant is found out early: there, compiling quickly counts, and not searching quickly.
search() {
  local model=$1 level=$2; shift 2
  rm -f "$work"/pan*
  (cd "$work" \
    && spin -a "$@" "$models/$model.pml" \
    && gcc "$level" -DSAFETY -DCOLLAPSE -DMEMLIM=2000 -w -o pan pan.c \
    && ./pan -m100000) 2>&1
}

# $1: what is checked, $2: what was expected, $3: whether it came so, $4: what was seen instead
report() {
  if [ "$3" = yes ]; then
    passed=$((passed + 1)); echo "test $1 ... ok ($2)"
  else
    failed=$((failed + 1)); echo "test $1 ... FAILED (expected: $2)"; echo "$4" | tail -n 20
  fi
}

# An error counts as found only where spin says which assertion failed or where nobody could go on.
check_mutant() {
  local model=$1 mutant=$2 said found=no
  said=$(search "$model" -O0 "-D$mutant")
  grep -Eq '^pan:1: (assertion violated|invalid end state)' <<<"$said" && found=yes
  report "$model $mutant" "found out" "$found" "$said"
}

check_design() {
  local model=$1 said states sound=no
  said=$(search "$model" -O2)
  states=$(grep -oE '[0-9]+ states, stored' <<<"$said" | cut -d' ' -f1)
  grep -q 'errors: 0' <<<"$said" && ! grep -Eq 'max search depth|out of memory|MEMLIM' <<<"$said" \
    && sound=yes
  report "$model" "${states:-no} states without an error" "$sound" "$said"
}

if [ $# -gt 0 ]; then chosen=("$@"); else mapfile -t chosen < <(basename -s .pml ./*.pml); fi
for model in "${chosen[@]}"; do
  [ -f "$model.pml" ] || { echo "there is no model \"$model\"" >&2; exit 1; }
  check_design "$model"
  while read -r mutant; do
    check_mutant "$model" "$mutant"
  done < <(grep -oE '^ \* mutant [A-Z_]+' "$model.pml" | cut -d' ' -f4)
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
