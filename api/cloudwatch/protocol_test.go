package cloudwatch

import (
	"math/big"
	"testing"

	"github.com/fxamacker/cbor/v2"
)

// What CBOR has beyond JSON is refused: a member that is there twice, and numbers that take longer to write out than to send.
func TestCBORMeansNoMoreThanJSON(t *testing.T) {
	huge, err := cbor.Marshal(map[string]any{"Threshold": new(big.Int).Lsh(big.NewInt(1), 1<<16)})
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string][]byte{
		"a member twice":     {0xa2, 0x61, 'a', 0x01, 0x61, 'a', 0x02},
		"an inner one":       {0xa1, 0x61, 'b', 0xa2, 0x61, 'a', 0x01, 0x61, 'a', 0x02},
		"a number of 64 KiB": huge,
		"a tag":              {0xa1, 0x61, 'a', 0xc1, 0x01},
		"a key of a number":  {0xa1, 0x01, 0x01},
	} {
		if text, err := jsonOfCBOR(body); err == nil {
			t.Errorf("%s is taken as %.40s", name, text)
		}
	}
	if text, err := jsonOfCBOR([]byte{0xa1, 0x61, 'a', 0x82, 0x01, 0xf6}); err != nil || string(text) != `{"a":[1,null]}` {
		t.Errorf("%s, %v", text, err)
	}
}
