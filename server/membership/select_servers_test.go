package membership

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pinion/raftfsm/spec"
)

// Hosts are written as letters in the order of their age: L leads, V votes, J is wanted without a vote, G votes and is
// gone for good, a could be a server, n joined as an agent, x cannot be reached now, g is gone for good. Upper case is wanted as a server; f is a voter whose seat is
// not recorded yet (the pool's first moment).
func TestWhichHostsOughtToBeServers(t *testing.T) {
	for _, c := range []struct {
		name, hosts string
		limit       int
		want, drop  string
	}{
		{"the first host is a server", "f", 3, "0", ""},
		{"nobody is heard of in the first moment", "xx", 3, "", ""},
		{"two servers are worse than one", "La", 3, "", ""},
		{"three are as many as wanted", "Laaa", 3, "12", ""},
		{"one is enough when one is wanted", "Laaaa", 1, "", ""},
		{"four hosts are three servers", "Laaa", 5, "12", ""},
		{"five hosts are five servers", "Laaaa", 5, "1234", ""},
		{"a host that cannot be reached is none", "Lxax", 3, "", ""},
		{"nothing changes while all is well", "LVVaa", 3, "", ""},
		{"a server on its way counts", "LJJaa", 3, "", ""},
		{"one that is gone is replaced", "LGVaa", 3, "3", "1"},
		{"by nobody, when there is nobody", "LGV", 3, "", ""},
		{"a server that was removed is replaced", "LVa", 3, "2", ""},
		{"or another one goes too", "LV", 3, "", "1"},
		{"but not because another host is slow", "LVx", 3, "", ""},
		{"nor because several are", "LVJVx", 5, "", ""},
		{"a host that is gone for good is not waited for", "LVg", 3, "", "1"},
		{"a slow host keeps no server that nobody wants", "LVVxx", 1, "", "12"},
		{"what a leader has left halfway is finished", "LGVVa", 3, "", "1"},
		{"the youngest goes when fewer are wanted", "VLVVV", 3, "", "34"},
		{"those that are gone go first", "LGVVG", 3, "", "14"},
		{"what joined as an agent is no server", "Lnnn", 3, "", ""},
		{"also when one is gone", "LGVn", 3, "", ""},
		{"another host is", "LnGVa", 3, "4", "2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var all []candidate
			for i, letter := range c.hosts {
				all = append(all, candidate{
					host:  &spec.Host{ID: fmt.Sprint(i), Server: strings.ContainsRune("LVJG", letter)},
					voter: strings.ContainsRune("LVGf", letter), self: strings.ContainsRune("Lf", letter),
					alive: strings.ContainsRune("LVJafn", letter), agent: letter == 'n', absent: letter == 'x', silent: strings.ContainsRune("Gg", letter),
				})
			}
			want, drop := selectServers(all, c.limit)
			if got := candidateNames(want); got != c.want {
				t.Errorf("wanted %q, not %q", got, c.want)
			}
			if got := sorted(candidateNames(drop)); got != c.drop {
				t.Errorf("dropped %q, not %q", got, c.drop)
			}
		})
	}
}

func sorted(digits string) string {
	parts := strings.Split(digits, "")
	slices.Sort(parts)
	return strings.Join(parts, "")
}

func candidateNames(all []candidate) string {
	var text strings.Builder
	for _, c := range all {
		text.WriteString(c.host.ID)
	}
	return text.String()
}
