#!/bin/sh
# What a cart costs: total.sh CART prints the total in cents, after the discount.
set -eu
. "$(dirname "$0")/money.sh"
discounted "$(sum "$1")"
