package httpx

import (
	"encoding/xml"
	"net/http"

	"pinion/api/wire"
)

// QueryXML is the Format of an error in the query protocol, which AWS's older services speak, CloudFormation among them.
const QueryXML = "text/xml"

type queryError struct {
	XMLName xml.Name `xml:"ErrorResponse"`
	Error   struct {
		Type    string
		Code    string
		Message string
	}
	RequestID string `xml:"RequestId"`
}

// refuseXML writes an error of the client's in the query protocol.
func (x *Exchange) refuseXML(refusal *wire.Error) {
	response := queryError{RequestID: x.ID}
	response.Error.Type, response.Error.Code, response.Error.Message = "Sender", refusal.Type, refusal.Message
	text, err := xml.Marshal(response)
	if err != nil {
		x.Format = AWSJSON
		x.Refuse(err)
		return
	}
	x.Header().Set("Content-Type", QueryXML)
	x.WriteHeader(http.StatusBadRequest)
	_, _ = x.Write(text)
}
