package conformance

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"pinion/api/ecs"
)

// rawClient sends bare HTTP and compares every answer with the service's model.
type rawClient struct {
	t     *testing.T
	pool  *testPool
	model *model
}

func (r rawClient) call(operation, body string) (answer []byte, refusal string, err error) {
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.pool.env["AWS_ENDPOINT_URL_ECS"]+"/", strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	request.Header.Set("Content-Type", "application/x-amz-json-1.1")
	request.Header.Set("X-Amz-Target", ecs.Target+"."+operation)
	sum := sha256.Sum256([]byte(body))
	key := aws.Credentials{AccessKeyID: r.pool.env["AWS_ACCESS_KEY_ID"], SecretAccessKey: r.pool.env["AWS_SECRET_ACCESS_KEY"]}
	if err := v4.NewSigner().SignHTTP(r.t.Context(), key, request, hex.EncodeToString(sum[:]), "ecs", r.pool.env["AWS_REGION"], time.Now()); err != nil {
		return nil, "", err
	}
	response, err := r.pool.http.Do(request)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	if err != nil {
		return nil, "", err
	}
	return answer, r.checkResponse(operation, response, answer), nil
}

// checkResponse reports differences from the model, and returns the type of an error.
func (r rawClient) checkResponse(operation string, response *http.Response, body []byte) (errorType string) {
	r.t.Helper()
	var problems []string
	if got := response.Header.Get("Content-Type"); got != "application/x-amz-json-1.1" {
		problems = append(problems, "Content-Type "+got)
	}
	if response.Header.Get("X-Amzn-Requestid") == "" {
		problems = append(problems, "no x-amzn-RequestId")
	}
	if response.StatusCode == http.StatusOK {
		problems = append(problems, r.model.responseProblems(operation, body)...)
	} else {
		var named struct {
			Type string `json:"__type"`
		}
		if err := json.Unmarshal(body, &named); err != nil {
			problems = append(problems, err.Error())
		}
		if errorType = response.Header.Get("X-Amzn-Errortype"); errorType == "" || errorType != named.Type {
			problems = append(problems, "X-Amzn-ErrorType "+errorType+" and __type "+named.Type)
		}
		problems = append(problems, r.model.errorProblems(operation, named.Type, response.StatusCode, body)...)
	}
	for _, problem := range problems {
		r.t.Errorf("%s: %s\n%s", operation, problem, bytes.TrimSpace(body))
	}
	return errorType
}

// testOtherOperations calls each operation beyond those of the scenario with an empty body: the answer must fit the model.
func (r rawClient) testOtherOperations(t *testing.T) {
	r.t = t
	for name := range r.model.Operations {
		if slices.Contains(coreOperations, name) || slices.Contains(serviceOperations, name) {
			continue
		}
		if _, refusal, err := r.call(name, "{}"); err != nil || refusal == "UnknownOperationException" {
			t.Errorf("%s: refused with %q, %v", name, refusal, err)
		}
	}
}
