package api

import (
	"context"
	"encoding/xml"
	"net/http"

	"pinion/api/auth"
	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
)

// stsService is the service that requests to AWS's security token service are signed for.
const stsService = "sts"

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

// identity is the endpoint of sts:GetCallerIdentity.
var identity = endpoint{
	name: stsService + ":GetCallerIdentity", mode: leader.FollowerRead, role: accesskey.RoleRead, scope: auth.Unscoped,
	bind: func(r *request) (call, error) {
		return call{run: func(context.Context) error { return replyIdentity(r) }}, nil
	},
}

func replyIdentity(r *request) error {
	principal := r.Resolution.Principal
	response := callerIdentity{RequestID: r.ID}
	response.Result.ARN, response.Result.UserID, response.Result.Account = principal.ARN, principal.KeyID, spec.AccountID
	if principal.KeyID == "" {
		response.Result.UserID = spec.AccountID // as AWS has it of root
	}
	if key := r.Resolution.View.AccessKey(principal.KeyID); key != nil && key.Assumed != nil {
		response.Result.UserID = key.Assumed.RoleID + ":" + key.Assumed.Task
	}
	text, err := xml.Marshal(response)
	if err != nil {
		return err
	}
	r.Header().Set("Content-Type", httpx.QueryXML)
	r.ReplyWhole(http.StatusOK, text)
	return nil
}
