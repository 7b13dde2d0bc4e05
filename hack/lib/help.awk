BEGIN { FS = ":.*##"; printf "usage: make TARGET\n" }
/^##@/ { printf "\n%s\n", substr($0, 5) }
/^[a-z%-]+:.*##/ { printf "  %-18s %s\n", $1, $2 }
