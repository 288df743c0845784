package bootstrap

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	"pinion/api/cli/format"
)

// join joins the machines that do not belong to the pool yet.
func (b *bootstrap) join(ctx context.Context, steps []step, founder int) error {
	joins := 0
	for _, s := range steps {
		if s.joins {
			joins++
		}
	}
	if joins == 0 {
		return nil
	}
	at := b.machines[founder]
	address, err := advertised(ctx, at)
	if err != nil {
		return b.of(founder, err)
	}
	token, err := at.run(ctx, "pinion token --ttl 30m --uses "+strconv.Itoa(joins), nil)
	if err != nil {
		return b.of(founder, err)
	}
	return b.each(ctx, func(i int) bool { return steps[i].joins }, func(ctx context.Context, i int) error {
		b.printFor(i, "joins "+address)
		_, err := b.machines[i].script(ctx, "start.sh", bytes.NewReader(token), address)
		return err
	})
}

// advertised is the address by which others reach the host of a machine: each host keeps its own in its data directory. It goes into the command lines
// of other machines, so it has to be an address in form, whatever the first machine says.
func advertised(ctx context.Context, m *machine) (string, error) {
	out, err := m.run(ctx, `cat "$data/address"`, nil)
	if err != nil {
		return "", err
	}
	address := strings.TrimSpace(string(out))
	host, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil || net.ParseIP(host) == nil && strings.Trim(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-") != "" || strings.HasPrefix(host, "-") {
		return "", fmt.Errorf("%q is no address of a host", format.Plain(address))
	}
	return address, nil
}

// report shows the hosts, and what they find of their machines.
func (b *bootstrap) report(ctx context.Context, founder int) error {
	m := b.machines[founder]
	out, err := m.run(ctx, "pinion hosts; echo; pinion doctor --all 2>&1 || :", nil)
	if err != nil {
		return b.of(founder, err)
	}
	fmt.Fprintf(b.out, "\n%s\n", format.Plain(string(out)))
	on := "ssh " + m.name + " sudo "
	if m.name == local {
		on = "sudo "
	}
	fmt.Fprintf(b.out, "next: %spinion run pinion/self -- pinion gpus --container\n      %spinion key create --role admin --name me   # a key for `pinion` and the AWS CLI on other machines\n", on, on)
	return nil
}
