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

// refuseXML writes an error in the query protocol.
func (x *Exchange) refuseXML(refusal *wire.Error, status int) {
	response := queryError{RequestID: x.ID}
	response.Error.Type, response.Error.Code, response.Error.Message = "Sender", refusal.Type, refusal.Message
	if status >= http.StatusInternalServerError {
		response.Error.Type = "Receiver"
	}
	text, err := xml.Marshal(response)
	if err != nil {
		x.Format = AWSJSON
		x.Refuse(err)
		return
	}
	x.Header().Set("Content-Type", QueryXML)
	x.WriteHeader(status)
	_, _ = x.Write(text)
}
