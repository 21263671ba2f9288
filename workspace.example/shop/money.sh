# Functions of the till. Money is whole cents; the rules stand in knowledge/prices.md.

# sum CART: the sum of all lines of a file with `name quantity price`
sum() {
    total=0
    while read -r _name quantity price; do
        total=$((total + quantity * price))
    done <"$1"
    echo "$total"
}

# discounted TOTAL: the total minus 10 percent from 5000 cents on
discounted() {
    if [ "$1" -ge 5000 ]; then
        echo $(($1 - $1 / 10))
    else
        echo "$1"
    fi
}

# change DUE PAID: what goes back to the customer
change() {
    if [ "$2" -lt "$1" ]; then
        echo "too little: $2 of $1" >&2
        return 1
    fi
    echo $(($1 - $2))
}
