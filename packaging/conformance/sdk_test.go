package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/smithy-go"
)

// sdkClient is the AWS SDK for Go, whose parser ends a call when one member has another JSON type than the model says.
type sdkClient struct {
	t      *testing.T
	client *ecs.Client
}

func newSDK(t *testing.T, s *testPool) sdkClient {
	return sdkClient{t, ecs.New(ecs.Options{
		BaseEndpoint: aws.String(s.env["AWS_ENDPOINT_URL_ECS"]), Region: s.env["AWS_REGION"], HTTPClient: s.http,
		Credentials: credentials.NewStaticCredentialsProvider(s.env["AWS_ACCESS_KEY_ID"], s.env["AWS_SECRET_ACCESS_KEY"], ""),
	})}
}

// call finds the method by its name: its input has the members of the JSON, in Go's spelling.
func (c sdkClient) call(operation, body string) (answer []byte, refusal string, err error) {
	method := reflect.ValueOf(c.client).MethodByName(operation)
	if !method.IsValid() {
		return nil, "", fmt.Errorf("the SDK has no %s", operation)
	}
	input := reflect.New(method.Type().In(1).Elem())
	if err := json.Unmarshal([]byte(body), input.Interface()); err != nil {
		return nil, "", err
	}
	results := method.Call([]reflect.Value{reflect.ValueOf(c.t.Context()), input})
	if err, failed := results[1].Interface().(error); failed {
		if refused, ok := errors.AsType[smithy.APIError](err); ok {
			return []byte(refused.ErrorMessage()), refused.ErrorCode(), nil
		}
		return nil, "", err
	}
	answer, err = json.Marshal(results[0].Interface())
	return answer, "", err
}
