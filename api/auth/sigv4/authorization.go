package sigv4

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"pinion/api/wire"
)

const (
	algorithm  = "AWS4-HMAC-SHA256"
	dateFormat = "20060102T150405Z"
)

// authorization is the parsed Authorization header, with the date of the request. Nothing in it is verified.
type authorization struct {
	keyID         string
	date          string // yyyymmdd of the scope
	region        string
	service       string
	headerList    string   // as it was sent
	signedHeaders []string // of the list, lower case
	signature     string   // 64 hex digits
	at            time.Time
	day           string // yyyymmdd of at
}

// proof is the part of the header that only the owner of the secret can make.
func (a authorization) proof() string {
	return a.headerList + ", Signature=" + a.signature
}

// SignedAt is the date of a signed request; the zero time when it is not signed.
func SignedAt(r *http.Request) time.Time {
	a, err := parse(r)
	if err != nil {
		return time.Time{}
	}
	return a.at
}

// parse reads the authorization of a request without verifying it.
func parse(r *http.Request) (authorization, error) {
	var a authorization
	if err := rejectUnsupportedForms(r); err != nil {
		return a, err
	}
	header := r.Header.Get("Authorization")
	if header == "" {
		return a, wire.Errorf(MissingAuthenticationToken, "The request carries no signature: sign it with an access key (AWS Signature Version 4), or send \"Authorization: Bearer KEYID:SECRET\". `pinion env` on a host prints a key.")
	}
	fields, ok := strings.CutPrefix(header, algorithm+" ")
	if !ok {
		return a, errIncomplete("the Authorization header must begin with %s", algorithm)
	}
	var credential string
	wanted := map[string]*string{"Credential": &credential, "SignedHeaders": &a.headerList, "Signature": &a.signature}
	for part := range strings.SplitSeq(fields, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		into, once := wanted[name]
		if !once {
			return a, errIncomplete("the Authorization header must have Credential, SignedHeaders and Signature once each and nothing else")
		}
		*into = value
		delete(wanted, name)
	}
	scope := strings.Split(credential, "/")
	if len(scope) != 5 || slices.Contains(scope, "") || len(a.signature) != 64 || a.headerList == "" {
		return a, errIncomplete("the Authorization header must have Credential=KEY/DATE/REGION/SERVICE/aws4_request, SignedHeaders and a Signature of 64 hex digits")
	}
	a.signedHeaders = strings.Split(a.headerList, ";")
	a.keyID, a.date, a.region, a.service = scope[0], scope[1], scope[2], scope[3]
	if scope[4] != "aws4_request" {
		return a, errIncomplete("the credential scope must end with aws4_request")
	}
	var err error
	date := r.Header.Get("X-Amz-Date")
	if a.at, err = time.Parse(dateFormat, date); err != nil {
		return a, errIncomplete("the X-Amz-Date header must be there and look like %s", dateFormat)
	}
	a.day = date[:len("yyyymmdd")]
	return a, nil
}

// rejectUnsupportedForms refuses AWS's other forms of a signature, which cover less than the whole request, and duplicate
// headers.
func rejectUnsupportedForms(r *http.Request) error {
	if isPresigned(r.URL.RawQuery) {
		return wire.Errorf(InvalidSignature, "Presigned requests are not accepted: put the signature into the Authorization header.")
	}
	for _, name := range []string{"Authorization", "X-Amz-Date", "X-Amz-Target", "X-Amz-Content-Sha256"} {
		if len(r.Header[name]) > 1 {
			return errIncomplete("the %s header is there more than once", name)
		}
	}
	return nil
}

// isPresigned looks at the text of a query, as nobody is known yet for whom it would be parsed.
func isPresigned(query string) bool {
	return strings.Contains(query, "X-Amz-Signature=") || strings.Contains(query, "X-Amz-Algorithm=") || strings.Contains(query, "X-Amz-Credential=")
}

func errIncomplete(format string, args ...any) error {
	return wire.Errorf(IncompleteSignature, "The signature is not complete: "+format+".", args...)
}
