package proxy

import (
	"fmt"
	"net"
	"testing"
)

// Networks that come one after another and take all they get keep no later one out, and none of them has much more than the others in the end.
func TestARequestOfANewcomerIsServed(t *testing.T) {
	const most, networks, streams = 1024, 100, 32
	q := &requests{most: most}
	all := &connections{open: map[*connection]struct{}{}}
	for i := range networks {
		client := fmt.Sprint("10.0.0.", i)
		for n := 0; n < 2*most; n += streams { // with connections of HTTP/2
			ours, _ := net.Pipe()
			conn := &connection{Conn: ours, all: all, network: client}
			for range streams {
				if !q.begin(conn) && n == 0 {
					t.Errorf("network %d is kept out", i)
				}
			}
		}
		if q.all > most {
			t.Fatalf("%d requests are under way", q.all)
		}
	}
	for client, has := range q.from {
		if has > 4*most/networks+streams {
			t.Errorf("%s has %d requests", client, has)
		}
	}
	for conn := range q.busy {
		for range conn.requests + 1 { // one more, of what was cut off before
			q.end(conn)
		}
	}
	if q.all != 0 || len(q.from) != 0 || len(q.busy) != 0 {
		t.Errorf("%d are left", q.all)
	}
}

func TestWhoseAnAddressIs(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1", "[::ffff:192.0.2.1]:80": "192.0.2.1", "[2001:db8:0:1:2:3:4:5]:80": "2001:db8:0:1::", "[2001:db8:0:2::1]:80": "2001:db8:0:2::", "[fe80::1%eth0]:80": "fe80::",
		"@": "@",
	} {
		if got := networkOf(remote); got != want {
			t.Errorf("%s: %s, want %s", remote, got, want)
		}
	}
}
