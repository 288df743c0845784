package cloudwatchlogs

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"pinion/api/wire"
)

// formatNextToken encodes a position in a stream as AWS does: with the direction to read in, f or b.
func formatNextToken(direction string, at position) string {
	if at.isZero() {
		return direction + "/0/0"
	}
	return fmt.Sprintf("%s/%d/%d", direction, at.at.UnixNano(), at.seq)
}

// parseNextToken decodes a token of formatNextToken. The token of the beginning is before every line, but not absent.
func parseNextToken(token string) (forward bool, at position, err error) {
	if token == "" {
		return false, position{}, nil
	}
	parts := strings.Split(token, "/")
	if len(parts) != 3 || parts[0] != "f" && parts[0] != "b" {
		return false, position{}, errInvalidNextToken()
	}
	ns, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || ns < 0 {
		return false, position{}, errInvalidNextToken()
	}
	nth, err := strconv.Atoi(parts[2])
	if err != nil || nth < 0 {
		return false, position{}, errInvalidNextToken()
	}
	return parts[0] == "f", position{time.Unix(0, ns).UTC(), nth}, nil
}

func errInvalidNextToken() error {
	return wire.Errorf(wire.InvalidParameter, "The specified nextToken is invalid: it is not one that this operation gave out.")
}
