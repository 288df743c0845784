package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"pinion/api/client"
)

func checkPort(ctx context.Context, h *Host) []Finding {
	if h.running() {
		return []Finding{ok("pinion has it")}
	}
	if err := h.Machine.Bind(h.Listen); err != nil {
		return []Finding{failed(err.Error(), "end what has the port (`ss -ltnp`), or choose another with `pinion up --listen`")}
	}
	return []Finding{ok(h.Listen + " is free")}
}

func checkPool(ctx context.Context, h *Host) (all []Finding) {
	hosts, err := h.Machine.Hosts(ctx)
	switch {
	case err != nil && h.running():
		return []Finding{failed(fmt.Sprintf("the pinion of this machine does not answer: %v", err), "see whether it runs (`systemctl status pinion`) and what it logs; without a leader more than half of the servers are unreachable")}
	case err != nil:
		return []Finding{ok("pinion does not run here")}
	}
	for _, host := range hosts {
		if !host.Connected {
			all = append(all, warning(fmt.Sprintf("host %s is unreachable", host.Name), "see whether its machine and pinion run; `pinion hosts rm --force "+host.Name+"` when it is permanently gone"))
		}
		if host.GPUs.Problem != "" {
			all = append(all, warning(fmt.Sprintf("GPUs of host %s: %s", host.Name, host.GPUs.Problem), "run pinion doctor there"))
		}
		for _, device := range host.GPUs.Devices {
			remedy := fmt.Sprintf("as it says, then `pinion gpus check %s/%s`", host.Name, device.Number())
			switch {
			case device.Health == client.Healthy:
				continue
			case device.Health == client.Quarantined:
				remedy = fmt.Sprintf("`pinion gpus release %s/%s` when it is well again", host.Name, device.Number())
			case strings.Contains(device.Problem, "Xid"):
				remedy = "`pinion gpus`; a reset of the GPU or a reboot mends most Xid errors"
			}
			all = append(all, warning(fmt.Sprintf("GPU %s of host %s is %s: %s", device.Number(), host.Name, device.Health, device.Problem), remedy))
		}
	}
	all = append(all, checkVirtualIPs(hosts)...)
	if len(all) == 0 {
		all = append(all, ok(fmt.Sprintf("every host of the pool (%d) is connected, and its GPUs are healthy", len(hosts))))
	}
	return all
}

// checkVirtualIPs finds hosts that cannot hold an address that they offer, and addresses that no host holds.
func checkVirtualIPs(hosts []client.Host) (all []Finding) {
	held, offered := map[string]bool{}, []string{}
	for _, host := range hosts {
		for _, v := range host.VirtualIPs {
			if v.Problem != "" {
				all = append(all, warning(fmt.Sprintf("host %s cannot hold the virtual IP %s: %s", host.Name, v.IP, v.Problem), "mend it there: pinion tries again every 10 s"))
			}
			held[v.IP] = held[v.IP] || v.Held
			offered = append(offered, v.IP)
		}
	}
	slices.Sort(offered)
	for _, ip := range slices.Compact(offered) {
		if !held[ip] {
			all = append(all, warning(fmt.Sprintf("no host holds the virtual IP %s", ip), "`pinion hosts -o wide` says why: one of the hosts that offer it has to be ACTIVE and healthy; after a start it takes some seconds"))
		}
	}
	return all
}

// running reports whether a process has the lock of the data directory. It takes no lock itself, or a pinion that starts would find it in
// use.
func (h *Host) running() bool {
	info, err := os.Stat(filepath.Join(h.DataDir, "lock"))
	if err != nil {
		return false
	}
	stat, known := info.Sys().(*syscall.Stat_t)
	return known && strings.Contains(h.Machine.read("proc/locks"), fmt.Sprintf(":%d 0 EOF", stat.Ino))
}

// maxPeers bounds the other hosts that are looked at.
const maxPeers = 32

// peers are the addresses of other hosts: of the pool, as far as this machine knows it, and the one to join.
func (h *Host) peers(ctx context.Context) ([]string, error) {
	var addresses []string
	if h.Join != "" {
		addresses = append(addresses, h.Join)
	}
	if hosts, err := h.Machine.Hosts(ctx); err == nil {
		for _, host := range hosts {
			addresses = append(addresses, host.Address)
		}
	} else {
		known, err := readServers(filepath.Join(h.DataDir, "servers.json"))
		if err != nil {
			return nil, err
		}
		own, _ := os.ReadFile(filepath.Join(h.DataDir, "address"))
		addresses = append(addresses, slices.DeleteFunc(known, func(address string) bool { return address == string(own) })...)
	}
	slices.Sort(addresses)
	addresses = slices.Compact(addresses)
	return addresses[:min(len(addresses), maxPeers)], nil
}

// readServers are the addresses that a host has written down of its pool.
func readServers(path string) ([]string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var pool struct{ Servers, Hosts []string }
	if err == nil {
		err = json.Unmarshal(text, &pool)
	}
	return append(pool.Servers, pool.Hosts...), err
}

// date is the time of a host at an address.
type date struct {
	address string
	ahead   time.Duration // of this machine's clock
	err     error
}

// askPeers asks the other hosts what time it is there, all at once.
func (h *Host) askPeers(ctx context.Context) ([]date, error) {
	addresses, err := h.peers(ctx)
	dates := make([]date, len(addresses))
	var asked sync.WaitGroup
	for i, address := range addresses {
		asked.Go(func() {
			theirs, err := h.Machine.Date(ctx, address)
			dates[i] = date{address, h.Machine.Now().Sub(theirs), err}
		})
	}
	asked.Wait()
	return dates, err
}

func checkPeers(ctx context.Context, h *Host) (all []Finding) {
	dates, err := h.askPeers(ctx)
	if err != nil {
		return []Finding{failed(fmt.Sprintf("servers.json cannot be read: %v", err), "put back a backup, or delete it and join again")}
	}
	for _, d := range dates {
		_, port, _ := net.SplitHostPort(d.address)
		var unknown *net.DNSError
		switch {
		case errors.As(d.err, &unknown):
			all = append(all, failed(fmt.Sprintf("the name in %s is not known here: %v", d.address, d.err), "mend DNS or /etc/hosts, or start that host with --advertise ADDRESS:PORT"))
		case d.err != nil:
			all = append(all, failed(fmt.Sprintf("%s is not reached: %v", d.address, d.err), "see whether pinion runs there, and let TCP port "+port+" through between all hosts (firewall, security group)"))
		}
	}
	if len(all) == 0 {
		all = append(all, ok(fmt.Sprintf("%d are known, and all are reached", len(dates))))
	}
	return all
}

func checkClockSync(_ context.Context, h *Host) []Finding {
	synced, err := h.Machine.ClockSynced()
	if err != nil || !synced {
		return []Finding{warning("the clock of this machine is not synchronised, as far as the kernel knows", "run chrony or systemd-timesyncd (`timedatectl set-ntp true`): certificates and signed requests are refused when clocks differ").fixedBy("timedatectl", "set-ntp", "true")}
	}
	return []Finding{ok("the clock is synchronised")}
}

// clockOff is the difference of clocks that pinion calls off.
const clockOff = 5 * time.Second

func checkClocks(ctx context.Context, h *Host) (all []Finding) {
	dates, _ := h.askPeers(ctx)
	var compared []string
	for _, d := range dates {
		if d.err != nil {
			continue
		}
		compared = append(compared, d.address)
		if d.ahead.Abs() >= clockOff {
			all = append(all, failed(fmt.Sprintf("the clock here is %s ahead of the one at %s (negative: behind)", d.ahead.Round(time.Second), d.address), "set the one that is wrong: `timedatectl set-ntp true`").fixedBy("timedatectl", "set-ntp", "true"))
		}
	}
	switch {
	case len(all) > 0:
		return all
	case len(compared) == 0:
		return []Finding{ok("there is no other host to compare with")}
	}
	return []Finding{ok("it is that of " + strings.Join(compared, ", "))}
}
