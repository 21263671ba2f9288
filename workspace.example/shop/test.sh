#!/bin/sh
# The tests of the till: one line per case, exit code 1 if any failed.
set -u
cd "$(dirname "$0")" || exit 2
. ./money.sh
passed=0
failed=0

check() {
    name=$1 expected=$2 got=$3
    if [ "$expected" = "$got" ]; then
        passed=$((passed + 1))
        echo "ok   $name"
    else
        failed=$((failed + 1))
        echo "FAIL $name: expected $expected, got $got"
    fi
}

check "sum of the cart" 3447 "$(sum cart.txt)"
check "no discount below 5000" 4999 "$(discounted 4999)"
check "discount from 5000 on" 4500 "$(discounted 5000)"
check "discount is rounded down" 4510 "$(discounted 5011)"
check "change of 10.00 for 7.51" 249 "$(change 751 1000)"
check "paid to the cent" 0 "$(change 751 751)"
check "paid too little" error "$(change 751 700 2>/dev/null || echo error)"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
