package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/sync/errgroup"
)

const (
	loadClients = 8 // as many as keep two cores busy
	loadTime    = 5 * time.Second
	slowClients = 1000
)

// measureOneHost asks a host that is alone about one task, through its TLS port and signed, as SDKs do.
func measureOneHost(ctx context.Context, o options, r *results) error {
	h, err := startHost(o.binary)
	if err != nil {
		return err
	}
	defer h.down()
	key, err := readCredentials(h.dir)
	if err != nil {
		return err
	}
	ids, err := h.ended(ctx, 1)
	if err != nil {
		return err
	}
	question := fmt.Appendf(nil, `{"tasks":[%q]}`, ids[0])
	var answers int
	used, err := cpuOf(func() (err error) {
		answers, err = key.sendTogether(ctx, question)
		return err
	}, h.cmd.Process.Pid, os.Getpid())
	if err != nil {
		return err
	}
	err = r.add(fmt.Sprintf("DescribeTasks/clients=%d", loadClients), answers, measured(float64(answers)/loadTime.Seconds(), "answers/s"),
		perAnswer("host-CPU", used[0], answers), perAnswer("client-CPU", used[1], answers))
	if err != nil {
		return err
	}
	return key.measureBesideSlow(ctx, question, r)
}

// perAnswer is a CPU time for each of the answers.
func perAnswer(what string, used time.Duration, answers int) benchfmt.Value {
	return measured(used.Seconds()/float64(answers), what+"-sec/answer")
}

// ended starts tasks whose image does not exist, and waits until all are STOPPED: for reads they are as good as any.
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

// sendTogether returns the number of answers that several clients get in loadTime, each on a connection of its own.
func (k credentials) sendTogether(ctx context.Context, question []byte) (all int, err error) {
	group, ctx := errgroup.WithContext(ctx)
	answers := make(chan int, loadClients)
	for range loadClients {
		group.Go(func() error {
			a, err := k.loadClient(ctx, "DescribeTasks", question, `"lastStatus":"STOPPED"`)
			if err != nil {
				return err
			}
			defer a.close()
			samples, err := a.sendFor(loadTime)
			answers <- len(samples)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	for range loadClients {
		all += <-answers
	}
	return all, nil
}

// measureBesideSlow times one client alone, and then while many others take a minute for each of their requests.
func (k credentials) measureBesideSlow(ctx context.Context, question []byte, r *results) error {
	c, err := k.loadClient(ctx, "DescribeTasks", question, `"lastStatus":"STOPPED"`)
	if err != nil {
		return err
	}
	defer c.close()
	alone, err := c.sendFor(loadTime)
	if err != nil {
		return err
	}
	slow, err := k.connectSlow(ctx)
	defer func() {
		for _, one := range slow {
			one.Close()
		}
	}()
	if err != nil {
		return err
	}
	beside, err := c.sendFor(loadTime)
	if err != nil {
		return err
	}
	return r.add(fmt.Sprintf("DescribeTasks/slow-clients=%d", slowClients), len(beside), append(percentiles("", beside), percentiles("alone-", alone)...)...)
}

// connectSlow opens clients that have sent the head of a request and a part of its body, and then nothing: the host waits 30 s for
// the rest.
func (k credentials) connectSlow(ctx context.Context) (slow []*tls.Conn, err error) {
	endpoint, err := url.Parse(k.Endpoint)
	if err != nil {
		return nil, err
	}
	config, err := k.tls()
	if err != nil {
		return nil, err
	}
	request, err := k.sign(ctx, "ListTasks", []byte("{}"))
	if err != nil {
		return nil, err
	}
	for range slowClients {
		dialer := tls.Dialer{Config: config}
		conn, err := dialer.DialContext(ctx, "tcp", endpoint.Host)
		if err != nil {
			return slow, err
		}
		slow = append(slow, conn.(*tls.Conn))
		_, err = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: %s\r\nContent-Length: 1000\r\nX-Amz-Target: %s\r\nX-Amz-Date: %s\r\nAuthorization: %s\r\n\r\n{", endpoint.Host,
			request.Header.Get("X-Amz-Target"), request.Header.Get("X-Amz-Date"), request.Header.Get("Authorization"))
		if err != nil {
			return slow, errors.Join(fmt.Errorf("slow client %d", len(slow)), err)
		}
	}
	return slow, nil
}
