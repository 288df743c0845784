package cloudwatch

import (
	"time"

	"github.com/fxamacker/cbor/v2"

	"pinion/api/wire"
)

// timestamp is a time stamp: seconds since 1970 in JSON and CBOR, and ISO 8601 in XML.
type timestamp struct{ wire.Time }

// epochTag is CBOR's tag of seconds since 1970.
const epochTag = 1

// MarshalCBOR writes seconds with their tag.
func (t timestamp) MarshalCBOR() ([]byte, error) {
	return cbor.Marshal(cbor.Tag{Number: epochTag, Content: float64(t.UnixMilli()) / 1000})
}

func at(t time.Time) timestamp { return timestamp{wire.NewTime(t.UTC().Truncate(time.Millisecond))} }
