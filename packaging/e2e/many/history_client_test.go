package many

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"pinion/packaging/testbed"
)

// historyTimeout is how long a client of a history waits for an answer.
const historyTimeout = 3 * time.Second

// historyBackoff is the longest that a client rests after a request without an answer. The more there are of those, the
// harder is the verdict.
const historyBackoff = 400 * time.Millisecond

// runClient asks for one thing after the other, each time through whatever host.
func (h *history) runClient(ctx context.Context, number int) {
	for n := 0; ctx.Err() == nil; n++ {
		family, highest := h.currentFamily()
		in := familyRequest{kind: exact, revision: 1 + rand.IntN(highest+1)}
		switch dice := rand.IntN(100); {
		case dice < 20:
			in = familyRequest{kind: register, mark: fmt.Sprintf("c%d-%d", number, n)}
		case dice < 35:
			in.kind = deregister
		case dice < 70:
			in = familyRequest{kind: latest}
		}
		if _, answered := h.request(ctx, number, family, in); !answered {
			testbed.Rest(ctx, rand.N(historyBackoff))
		}
	}
}

// request sends one request, once, and records its outcome, unless the answer says that it was not applied: if it was applied
// all the same, other clients see a change that no recorded request explains. It returns whether there was an answer.
func (h *history) request(ctx context.Context, client int, family string, in familyRequest) (out familyResponse, answered bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), historyTimeout)
	defer cancel()
	began := time.Since(h.began)
	definition, err := send(ctx, h.sdks[rand.IntN(len(h.sdks))], family, in)
	ended := time.Since(h.began)
	switch {
	case err == nil:
		out = familyResponse{
			found: true, revision: int(definition.Revision), mark: sdk.ToString(definition.ContainerDefinitions[0].Name),
			active: definition.Status == types.TaskDefinitionStatusActive,
		}
	case in.kind != register && strings.Contains(err.Error(), "Unable to describe task definition."):
	case statusOf(err) >= 400 && statusOf(err) < 500:
		h.refused.Do(func() { h.t.Errorf("%+v of %s is refused: %v", in, family, err) })
		return familyResponse{}, false
	case in.kind == latest || in.kind == exact || notApplied(err):
		return familyResponse{}, false
	default:
		out.unknown = true
	}
	o := operation(client, began, ended, in, out)
	o.Metadata = err
	h.add(family, o)
	return out, !out.unknown
}

// noRetries keeps the SDK from asking again by itself: a second registration is another one.
func noRetries(o *ecs.Options) { o.Retryer = sdk.NopRetryer{} }

func send(ctx context.Context, client *ecs.Client, family string, in familyRequest) (*types.TaskDefinition, error) {
	exactly := fmt.Sprintf("%s:%d", family, in.revision)
	switch in.kind {
	case register:
		out, err := client.RegisterTaskDefinition(ctx, &ecs.RegisterTaskDefinitionInput{
			Family: &family, ContainerDefinitions: []types.ContainerDefinition{{Name: &in.mark, Image: sdk.String("busybox"), Memory: sdk.Int32(16)}},
		}, noRetries)
		if err != nil {
			return nil, err
		}
		return out.TaskDefinition, nil
	case deregister:
		out, err := client.DeregisterTaskDefinition(ctx, &ecs.DeregisterTaskDefinitionInput{TaskDefinition: &exactly}, noRetries)
		if err != nil {
			return nil, err
		}
		return out.TaskDefinition, nil
	case latest:
		exactly = family
	}
	out, err := client.DescribeTaskDefinition(ctx, &ecs.DescribeTaskDefinitionInput{TaskDefinition: &exactly}, noRetries)
	if err != nil {
		return nil, err
	}
	return out.TaskDefinition, nil
}

// notApplied reports whether the error proves that the request had no effect: no host received it, or the host says so.
func notApplied(err error) bool {
	problem, ok := errors.AsType[*net.OpError](err)
	if ok && (problem.Op == "dial" || problem.Op == "remote error") { // the latter ends a TLS handshake
		return true
	}
	refusal, ok := errors.AsType[interface {
		error
		ErrorMessage() string
	}](err)
	if !ok {
		return false
	}
	text := refusal.ErrorMessage()
	return strings.Contains(text, "othing was done") || strings.Contains(text, "othing was recorded")
}
