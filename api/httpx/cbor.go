package httpx

import (
	"github.com/fxamacker/cbor/v2"

	"pinion/api/wire"
)

// CBOR is the Format of RPC v2 CBOR, which newer SDKs speak with some services of AWS: POST /service/SERVICE/operation/OPERATION.
const CBOR = "application/cbor"

// refuseCBOR writes an error in that protocol.
func (x *Exchange) refuseCBOR(refusal *wire.Error, status int) {
	text, err := cbor.Marshal(map[string]string{"__type": refusal.Type, "message": refusal.Message})
	if err != nil {
		x.Format = AWSJSON
		x.Refuse(err)
		return
	}
	x.ReplyEncoded(status, text)
}
