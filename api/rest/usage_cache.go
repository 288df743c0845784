package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode"

	"pinion/api/httpx"
	"pinion/gpu"
	"pinion/raftfsm/spec"
)

const (
	// usageFresh is how long the answer of a host is given to others that ask, and usageFailed how long that there is none.
	usageFresh  = time.Second
	usageFailed = 5 * time.Second
	// usageTimeout is how long a host may take. A screen that is drawn anew waits for the slowest.
	usageTimeout = 2 * time.Second
	// maxUsageBytes bounds the answer of a host, which may be in the wrong hands.
	maxUsageBytes = 256 << 10
	// maxProblem bounds what a host says of itself for people.
	maxProblem = 300
)

// usageAnswer is how the GPUs of a host are used, or why that is not known.
type usageAnswer struct {
	usage   gpu.LatestUsage
	problem string
}

// of is how the GPUs of a host are used.
func (g gpuUsage) of(x *httpx.Exchange, host *spec.Host) usageAnswer {
	if g.peers.Transport == nil || host.ID == g.peers.HostID {
		return sanitizeUsage(host, g.gpus.Usage())
	}
	if !g.store.Connected(host.ID) {
		return usageAnswer{problem: "the host is not connected"}
	}
	return g.answers.Get(host.ID, func() (usageAnswer, time.Duration) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(x.Context()), usageTimeout) // others wait for it too
		defer cancel()
		usage, err := askUsage(ctx, g.peers, host)
		if err != nil {
			return usageAnswer{problem: fmt.Sprintf("the host cannot be reached at %s: %v", host.Address, err)}, usageFailed
		}
		return sanitizeUsage(host, usage), usageFresh
	})
}

// sanitizeUsage drops implausible values from a host's report: the host may be compromised, or its driver broken.
func sanitizeUsage(host *spec.Host, said gpu.LatestUsage) usageAnswer {
	answer := usageAnswer{usage: gpu.LatestUsage{At: said.At, GPUs: []gpu.RecentUsage{}}, problem: plainText(said.Problem)}
	if said.At.IsZero() && answer.problem == "" {
		answer.problem = "nothing is measured yet"
	}
	seen := map[string]bool{}
	for _, usage := range said.GPUs {
		device, has := host.GPUs.Device(usage.UUID)
		if !has || seen[usage.UUID] {
			continue
		}
		seen[usage.UUID] = true
		usage.Usage, _ = usage.DropImplausible(&device)
		for _, v := range usage.Recent {
			if !(v >= 0 && v <= 100) {
				usage.Recent = nil
				break
			}
		}
		answer.usage.GPUs = append(answer.usage.GPUs, usage)
	}
	return answer
}

// plainText is a text of another host for a terminal: one line, without control characters.
func plainText(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	if len(text) > maxProblem {
		text = strings.ToValidUTF8(text[:maxProblem], "") + "..."
	}
	return text
}

// askUsage asks another host, authorized by this one.
func askUsage(ctx context.Context, peers *httpx.Peers, host *spec.Host) (usage gpu.LatestUsage, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/v1/hosts/"+host.ID+"/gpus/usage", nil)
	if err != nil {
		return usage, err
	}
	r.Host = host.Address
	response, end, err := peers.RoundTrip(r, host.Address, http.Header{httpx.HeaderAuthorizedBy: {peers.HostID}, "User-Agent": {""}}, nil)
	defer end()
	if err != nil {
		if ctx.Err() != nil {
			err = errors.New("nothing came for " + usageTimeout.String())
		}
		return usage, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return usage, fmt.Errorf("it answers with status %d: it may run an older pinion", response.StatusCode)
	}
	return usage, json.NewDecoder(io.LimitReader(response.Body, maxUsageBytes)).Decode(&usage)
}
