package cloudwatch

import (
	"encoding/json"
	"reflect"

	"github.com/fxamacker/cbor/v2"

	"pinion/api/query"
	"pinion/api/wire"
)

// Protocol is how a client writes an input and reads an output.
type Protocol int

// The protocols of clients: which one speaks what depends on its version.
const (
	JSON  Protocol = iota // X-Amz-Target, JSON 1.0: boto3 and the AWS CLI
	Query                 // a form, and XML: Terraform's AWS provider 5, older clients
	CBOR                  // a path, see IsPath: the AWS SDK for Go v2, Terraform's AWS provider 6
)

// namespace is that of answers in XML.
const namespace = "http://monitoring.amazonaws.com/doc/2010-08-01/"

// decode reads an input. What it is in a protocol becomes JSON, so that there is one decoder with one sort of errors.
func (p Protocol) decode(body []byte, in any) (err error) {
	switch p {
	case Query:
		body, err = query.JSON(body, reflect.TypeOf(in).Elem())
	case CBOR:
		body, err = jsonOfCBOR(body)
	}
	if err != nil {
		return err
	}
	return wire.WithErrorType(invalid, wire.DecodeJSON(body, in, wire.Lenient))
}

// encode writes an output. JSON and XML have the same names.
func (p Protocol) encode(operation string, out any, requestID string) ([]byte, error) {
	switch p {
	case CBOR:
		return cbor.Marshal(out)
	case Query:
		return query.Response(namespace, operation, out, requestID)
	}
	return wire.Append(nil, out)
}

// objects has those of CBOR be what JSON has: a member is there once, and there are no tags, such as that of a number of a million digits, which no
// input has. Depth and sizes are bounded by default.
var objects = func() cbor.DecMode {
	mode, err := cbor.DecOptions{DefaultMapType: reflect.TypeFor[map[string]any](), DupMapKey: cbor.DupMapKeyEnforcedAPF, TagsMd: cbor.TagsForbidden}.DecMode()
	if err != nil {
		panic(err) // the options are these
	}
	return mode
}()

func jsonOfCBOR(body []byte) ([]byte, error) {
	var object any
	err := objects.Unmarshal(body, &object)
	if err == nil {
		body, err = json.Marshal(object)
	}
	if err != nil {
		return nil, wire.Errorf(wire.Serialization, "the body is no object of CBOR with numbers and texts: %v", err)
	}
	return body, nil
}
