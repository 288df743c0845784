package api

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"pinion/api/wire"
)

// queryError is how AWS's older services, CloudFormation among them, answer: in XML.
type queryError struct {
	XMLName xml.Name `xml:"ErrorResponse"`
	Error   struct {
		Type    string
		Code    string
		Message string
	}
	RequestID string `xml:"RequestId"`
}

// refuseQuery answers a POST / without a target: the query protocol of another service, or no AWS protocol at all.
func (d *door) refuseQuery(w http.ResponseWriter, r *http.Request, body []byte) {
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		d.refuse(w, r, typeAWS, wire.Errorf(wire.UnknownOperation, "The X-Amz-Target header is missing. It names the operation: AmazonEC2ContainerServiceV20141113.RunTask. Without an AWS client, POST to /v1/RunTask."))
		return
	}
	form, _ := url.ParseQuery(string(body)) // what cannot be read names no action
	var answer queryError
	answer.Error.Type, answer.Error.Code = "Sender", "InvalidAction"
	answer.Error.Message = fmt.Sprintf("pinion: action %q (API version %q) is not supported: Pinion answers Amazon ECS only. "+
		"Where a CloudFormation stack makes the cluster and its hosts, start hosts with `pinion up` and name the cluster instead: export cluster=default", form.Get("Action"), form.Get("Version"))
	answer.RequestID = requestID(w)
	text, err := xml.Marshal(answer)
	if err != nil {
		d.refuse(w, r, typeAWS, err)
		return
	}
	w.Header().Set("Content-Type", "text/xml")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(text)
}
