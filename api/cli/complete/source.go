package complete

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/client"
	"pinion/raftfsm/lazyregexp"
)

// Run carries out a command line of the program, without the program's name, and returns what it prints.
type Run func(ctx context.Context, line []string) (out []byte, err error)

// source is what the pool of a command line has. What cannot be read is not offered.
type source struct {
	ctx    context.Context
	c      *cli.Context
	system invocation.System
	run    Run
	line   parsed
}

// connectionFlags say which pool a line is about.
var connectionFlags = []string{"data-dir", "host", "context", "key-id", "key-secret", "ca", "region"}

// values are what a word of a kind may become.
func (s source) values(k kind) answer {
	switch k {
	case free:
		return answer{}
	case file:
		return answer{how: files}
	case contexts:
		return answer{offers: contextOffers()}
	case columns:
		return s.filterOffers()
	case templates:
		return answer{how: nospace, offers: s.columnOffers("{{.", "}}", strings.ToUpper)}
	}
	read, inPool := sources[k]
	if !inPool {
		a := answer{offers: offersOf(strings.Fields(string(k)))}
		if strings.HasSuffix(string(k), "=") || strings.HasSuffix(string(k), ":") {
			a.how = nospace
		}
		return a
	}
	inv, err := s.invoke()
	if err != nil {
		return answer{}
	}
	offers, _ := read(s, inv)
	return answer{offers: slices.DeleteFunc(offers, func(o offer) bool { return slices.Contains(s.line.arguments, o.value) })}
}

// invoke connects as the line says.
func (s source) invoke() (*invocation.Invocation, error) {
	for _, name := range connectionFlags {
		if value, given := s.line.flags[name]; given {
			if err := s.c.Set(name, value); err != nil {
				return nil, err
			}
		}
	}
	return s.system.Invoke(s.c)
}

func (s source) cluster() string { return cmp.Or(s.line.flags["cluster"], "default") }

// sources read the lists of the pool.
var sources = map[kind]func(source, *invocation.Invocation) ([]offer, error){
	tasks: taskOffers, groups: groupOffers, after: afterOffers, containers: containerOffers, hosts: hostOffers, clusters: clusterOffers, teams: teamOffers,
	families: familyOffers, definitions: definitionOffers, images: imageOffers, keys: keyOffers, joinTokens: joinTokenOffers, logins: loginOffers,
	services: serviceOffers, daemons: daemonOffers, gpus: gpuOffers, secrets: secretOffers, poolImages: poolImageOffers, taskSecrets: taskSecretOffers,
}

// serviceOffers are the names of services; behind one that is to be scaled its count follows.
func serviceOffers(s source, inv *invocation.Invocation) ([]offer, error) {
	names, err := client.ServiceNames(s.ctx, inv.Client, s.cluster())
	return offersOf(names), err
}

func daemonOffers(s source, inv *invocation.Invocation) (offers []offer, err error) {
	arns, err := client.DaemonARNs(s.ctx, inv.Client, s.cluster())
	for _, arn := range arns {
		offers = append(offers, offer{value: client.ResourceID(arn)})
	}
	return offers, err
}

func hostOffers(s source, inv *invocation.Invocation) (offers []offer, err error) {
	hosts, err := inv.Client.Hosts(s.ctx)
	count := map[string]int{}
	for _, h := range hosts {
		count[h.Name]++
	}
	for _, h := range hosts {
		about := fmt.Sprintf("%s, %s free", h.Status, format.Plural(len(h.Free.GPUs), "GPU"))
		about = cmp.Or(format.Unreachable(h), about)
		name := h.Name
		if count[h.Name] > 1 {
			name, about = format.ID(h.ID), h.Name+", "+about // the name alone is ambiguous
		}
		offers = append(offers, offer{name, about})
	}
	return offers, err
}

// gpuOffers are the GPUs as HOST/IDX, with their health and what has them.
func gpuOffers(s source, inv *invocation.Invocation) (offers []offer, err error) {
	all, err := inv.Client.GPUs(s.ctx)
	names := invocation.GPUHosts(all)
	for _, g := range all {
		offers = append(offers, offer{names[g.HostID] + "/" + g.Number(), g.Health + " " + g.UUID})
	}
	return offers, err
}

func clusterOffers(s source, inv *invocation.Invocation) ([]offer, error) {
	names, err := inv.Clusters(s.ctx)
	return offersOf(names), err
}

func teamOffers(s source, inv *invocation.Invocation) (offers []offer, err error) {
	all, err := inv.Client.Teams(s.ctx)
	for _, t := range all {
		about := fmt.Sprintf("%s in use", format.Plural(t.GPUsInUse, "GPU"))
		if t.Quota != nil {
			about = fmt.Sprintf("%d of %s in use", t.GPUsInUse, format.Plural(*t.Quota, "GPU"))
		}
		offers = append(offers, offer{t.Name, about})
	}
	return offers, err
}

func keyOffers(s source, inv *invocation.Invocation) (offers []offer, err error) {
	all, err := inv.Client.Keys(s.ctx)
	for _, k := range all {
		offers = append(offers, offer{k.ID, strings.TrimSpace(k.Role + " " + k.Cluster)})
	}
	return offers, err
}

func joinTokenOffers(s source, inv *invocation.Invocation) (offers []offer, err error) {
	all, err := inv.Client.JoinTokens(s.ctx)
	for _, t := range all {
		offers = append(offers, offer{t.ID, fmt.Sprintf("cluster %s, used %d of %d times", t.Cluster, t.Used, t.Uses)})
	}
	return offers, err
}

func loginOffers(s source, inv *invocation.Invocation) (offers []offer, err error) {
	var issuer struct {
		Groups []struct{ Group, Role string }
	}
	err = inv.Client.Get(s.ctx, "/v1/admin/oidc", nil, &issuer)
	for _, g := range issuer.Groups {
		offers = append(offers, offer{g.Group, g.Role})
	}
	return offers, err
}

// contextOffers are the logins of this user.
func contextOffers() []offer {
	names, _ := invocation.Contexts()
	return offersOf(names)
}

func offersOf(names []string) []offer {
	offers := make([]offer, len(names))
	for i, name := range names {
		offers[i].value = name
	}
	return offers
}

// columnName is a column's header that filters and templates can name.
var columnName = lazyregexp.New(`\S+(?: \S+)*`)

// columnOffers are the columns that the command of the line lists, by its own table.
func (s source) columnOffers(before, behind string, spell func(string) string) (offers []offer) {
	out, err := s.list()
	header, _, _ := bytes.Cut(out, []byte("\n"))
	if err != nil || len(header) == 0 {
		return nil
	}
	for _, name := range columnName.FindAllString(string(header), -1) {
		offers = append(offers, offer{value: before + spell(strings.NewReplacer(" ", "-", "/", "-").Replace(name)) + behind})
	}
	return offers
}

// filterOffers are the columns of a list, or behind KEY= the values that the column has.
func (s source) filterOffers() answer {
	key, _, valued := strings.Cut(s.line.word, "=")
	if !valued {
		return answer{how: nospace, offers: s.columnOffers("", "=", strings.ToLower)}
	}
	key = strings.TrimSuffix(key, "!")
	out, err := s.list("--format", "{{."+strings.ToUpper(key)+"}}")
	if err != nil {
		return answer{}
	}
	lines := slices.Compact(slices.Sorted(strings.SplitSeq(string(out), "\n")))
	offers := offersOf(lines)
	for i := range offers {
		if offers[i].value != "" {
			offers[i].value = s.line.word[:strings.Index(s.line.word, "=")+1] + offers[i].value
		}
	}
	return answer{offers: offers}
}

// list carries out the command of the line, which lists.
func (s source) list(more ...string) ([]byte, error) {
	var line []string
	for _, name := range connectionFlags {
		value, given := s.line.flags[name]
		if !given {
			value = invocation.GlobalFlag(s.c, name)
		}
		if value != "" {
			line = append(line, "--"+name+"="+value)
		}
	}
	line = append(line, s.line.path...)
	if s.line.flags["cluster"] != "" {
		line = append(line, "--cluster="+s.line.flags["cluster"])
	}
	return s.run(s.ctx, append(line, more...))
}

// age is how long ago a task was made.
func age(inv *invocation.Invocation, at time.Time) string { return format.Age(inv.Now().Sub(at)) }
