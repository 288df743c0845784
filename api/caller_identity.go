package api

import (
	"context"
	"encoding/xml"
	"mime"
	"net/http"
	"net/url"

	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/raftfsm/spec"
)

// stsService is the service that requests to AWS's security token service are signed for.
const stsService = "sts"

// isQuery reports whether a request is in the query protocol, which AWS's older services speak.
func isQuery(r *http.Request) bool {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return r.Header.Get("X-Amz-Target") == "" && kind == "application/x-www-form-urlencoded"
}

// callerIdentity is sts:GetCallerIdentity, with which AWS's tools show and check whose key they use.
type callerIdentity struct {
	XMLName xml.Name `xml:"https://sts.amazonaws.com/doc/2011-06-15/ GetCallerIdentityResponse"`
	Result  struct {
		ARN     string `xml:"Arn"`
		UserID  string `xml:"UserId"`
		Account string
	} `xml:"GetCallerIdentityResult"`
	RequestID string `xml:"ResponseMetadata>RequestId"`
}

// byAction finds the operation of a request in the query protocol.
func byAction(r *request) (*endpoint, error) {
	r.Format = httpx.QueryXML
	form, _ := url.ParseQuery(string(r.Body)) // what cannot be read names no action
	if form.Get("Action") != "GetCallerIdentity" {
		return nil, errNoAction(form)
	}
	return &endpoint{
		name: stsService + ":GetCallerIdentity", mode: leader.FollowerRead, role: spec.RoleRead,
		bind: func(r *request) (call, error) {
			return call{run: func(context.Context) error { return replyIdentity(r) }}, nil
		},
	}, nil
}

func replyIdentity(r *request) error {
	principal := r.Resolution.Principal
	response := callerIdentity{RequestID: r.ID}
	response.Result.ARN, response.Result.UserID, response.Result.Account = principal.ARN, principal.KeyID, spec.AccountID
	if principal.KeyID == "" {
		response.Result.UserID = spec.AccountID // as AWS has it of root
	}
	text, err := xml.Marshal(response)
	if err != nil {
		return err
	}
	r.Header().Set("Content-Type", httpx.QueryXML)
	r.ReplyWhole(http.StatusOK, text)
	return nil
}
