package cloudwatch

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"pinion/api/wire"
)

// writeToken writes a place in a stream as the service does: with the direction to read in from there, f or b.
func writeToken(direction string, at place) string {
	if at.none() {
		return direction + "/0/0"
	}
	return fmt.Sprintf("%s/%d/%d", direction, at.at.UnixNano(), at.nth)
}

// readToken reads what writeToken wrote. A token of the beginning is before every line, but it is a token still.
func readToken(token string) (forward bool, at place, err error) {
	if token == "" {
		return false, place{}, nil
	}
	parts := strings.Split(token, "/")
	if len(parts) != 3 || parts[0] != "f" && parts[0] != "b" {
		return false, place{}, errToken()
	}
	ns, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || ns < 0 {
		return false, place{}, errToken()
	}
	nth, err := strconv.Atoi(parts[2])
	if err != nil || nth < 0 {
		return false, place{}, errToken()
	}
	return parts[0] == "f", place{time.Unix(0, ns).UTC(), nth}, nil
}

func errToken() error {
	return wire.Errorf(wire.InvalidParameter, "The specified nextToken is invalid: it is not one that this operation gave out.")
}
