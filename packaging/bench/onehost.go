package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	askers      = 8 // as many as keep two cores busy
	askingFor   = 5 * time.Second
	slowClients = 1000
)

// measureOneHost asks a host that is alone about one task, through its TLS port and signed, as SDKs do.
func measureOneHost(ctx context.Context, o options) (figures []figure, err error) {
	h, err := startHost(o.binary)
	if err != nil {
		return nil, err
	}
	defer h.down()
	key, err := readCredentials(h.dir)
	if err != nil {
		return nil, err
	}
	ids, err := h.ended(ctx, 1)
	if err != nil {
		return nil, err
	}
	question := fmt.Appendf(nil, `{"tasks":[%q]}`, ids[0])
	var answers int
	used, err := cpuOf(func() (err error) {
		answers, err = key.askTogether(ctx, question)
		return err
	}, h.cmd.Process.Pid, os.Getpid())
	if err != nil {
		return nil, err
	}
	each := func(i int) string { return µs(used[i] / time.Duration(answers)) }
	figures = append(figures, figure{
		fmt.Sprintf("DescribeTasks of one task, signed, TLS, %d clients beside the host", askers), fmt.Sprintf("%.0f a second", float64(answers)/askingFor.Seconds()),
		"CPU for each: the host " + each(0) + ", the clients " + each(1), "at least 8000 a second on 2 cores",
	})
	slow, err := key.besideSlow(ctx, question)
	return append(figures, slow...), err
}

// ended starts tasks whose image nobody has, and waits until all are STOPPED: for questions they are as good as any.
func (c *client) ended(ctx context.Context, count int) (ids []string, err error) {
	definition := object{"family": "ended", "networkMode": "none", "containerDefinitions": []object{{"name": "c", "image": "127.0.0.1:1/none", "memory": 64}}}
	if err := c.call("RegisterTaskDefinition", definition, &struct{}{}); err != nil {
		return nil, err
	}
	var answer tasks
	if err := c.call("RunTask", object{"taskDefinition": "ended", "count": count}, &answer); err != nil {
		return nil, err
	}
	if len(answer.Tasks) != count {
		return nil, fmt.Errorf("%d of %d tasks: %v", len(answer.Tasks), count, answer.Failures)
	}
	for _, t := range answer.Tasks {
		if _, err := c.wait(t, "STOPPED"); err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		ids = append(ids, t.id())
	}
	return ids, nil
}

// askTogether is how many answers several clients get in askingFor, each on a connection of its own.
func (c credentials) askTogether(ctx context.Context, question []byte) (all int, err error) {
	group, ctx := errgroup.WithContext(ctx)
	answers := make(chan int, askers)
	for range askers {
		group.Go(func() error {
			a, err := c.asker(ctx, "DescribeTasks", question, `"lastStatus":"STOPPED"`)
			if err != nil {
				return err
			}
			defer a.close()
			samples, err := a.askFor(askingFor)
			answers <- len(samples)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	for range askers {
		all += <-answers
	}
	return all, nil
}

// besideSlow times one client alone, and then while many others take a minute for each of their requests.
func (c credentials) besideSlow(ctx context.Context, question []byte) ([]figure, error) {
	a, err := c.asker(ctx, "DescribeTasks", question, `"lastStatus":"STOPPED"`)
	if err != nil {
		return nil, err
	}
	defer a.close()
	alone, err := a.askFor(askingFor)
	if err != nil {
		return nil, err
	}
	crowd, err := c.crowd(ctx)
	defer func() {
		for _, one := range crowd {
			one.Close()
		}
	}()
	if err != nil {
		return nil, err
	}
	beside, err := a.askFor(askingFor)
	if err != nil {
		return nil, err
	}
	reach := 2 * percentile(alone, 0.99)
	return []figure{{fmt.Sprintf("the same, one client, beside %d that are slow, p99", slowClients), ms(percentile(beside, 0.99)), "alone " + ms(percentile(alone, 0.99)), "at most " + ms(reach)}}, nil
}

// crowd are clients that have sent the head of a request and a part of its body, and then nothing: the host waits 30 s for
// the rest.
func (c credentials) crowd(ctx context.Context) (crowd []*tls.Conn, err error) {
	endpoint, err := url.Parse(c.Endpoint)
	if err != nil {
		return nil, err
	}
	config, err := c.tls()
	if err != nil {
		return nil, err
	}
	request, err := c.sign(ctx, "ListTasks", []byte("{}"))
	if err != nil {
		return nil, err
	}
	for range slowClients {
		dialer := tls.Dialer{Config: config}
		conn, err := dialer.DialContext(ctx, "tcp", endpoint.Host)
		if err != nil {
			return crowd, err
		}
		crowd = append(crowd, conn.(*tls.Conn))
		_, err = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: %s\r\nContent-Length: 1000\r\nX-Amz-Target: %s\r\nX-Amz-Date: %s\r\nAuthorization: %s\r\n\r\n{", endpoint.Host,
			request.Header.Get("X-Amz-Target"), request.Header.Get("X-Amz-Date"), request.Header.Get("Authorization"))
		if err != nil {
			return crowd, errors.Join(fmt.Errorf("slow client %d", len(crowd)), err)
		}
	}
	return crowd, nil
}
