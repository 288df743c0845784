package complete

import (
	"fmt"
	"slices"
	"strings"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/client"
	"pinion/raftfsm/lazyregexp"
)

var hexadecimal = lazyregexp.New(`^[0-9a-f]+$`)

// ending are the commands that are about tasks which have not stopped, whole those that take the name of a group for all its tasks.
var (
	ending = []string{"stop", "hold", "release", "requeue", "set-priority"}
	whole  = []string{"stop", "logs", "why"}
)

// listed are the tasks that the command of the line can be about, the newest first.
func (s source) listed(inv *invocation.Invocation) ([]client.Task, error) {
	all, err := client.ListedTasks(s.ctx, inv.Client, s.cluster())
	if slices.Contains(ending, s.line.command.Name) {
		all = slices.DeleteFunc(all, func(t client.Task) bool { return t.Stopped() })
	}
	slices.SortStableFunc(all, func(a, b client.Task) int { return b.CreatedAt.Compare(a.CreatedAt.Time) })
	return all, err
}

// taskOffers are names that stand for one task, or for a group where the command takes one, and ids: of tasks without such a name, and when
// one is being written.
func taskOffers(s source, inv *invocation.Invocation) ([]offer, error) {
	all, err := s.listed(inv)
	active := map[string]int{}
	for _, t := range all {
		if !t.Stopped() {
			active[taskName(t)]++
		}
	}
	takesGroups := slices.Contains(whole, s.line.command.Name)
	var names, ids []offer
	for _, t := range all {
		about := fmt.Sprintf("%s, %s", t.Status, age(inv, t.CreatedAt.Time))
		named := active[taskName(t)] <= 1 || takesGroups
		if n := active[taskName(t)]; n > 1 {
			names = append(names, offer{taskName(t), format.Plural(n, "task")})
		} else {
			names = append(names, offer{taskName(t), about})
		}
		if !named || hexadecimal.MatchString(s.line.word) {
			ids = append(ids, offer{format.ID(t.ID()), format.TaskName(t) + ", " + about})
		}
		if !named {
			names = names[:len(names)-1]
		}
	}
	if takesGroups {
		names = append(names, groupsOf(all)...)
	}
	return append(names, ids...), err
}

// taskName is what people call a task: the --name that it was run with, or its family.
func taskName(t client.Task) string {
	family, _, _ := strings.Cut(client.ResourceID(t.Definition), ":")
	return strings.TrimPrefix(family, "run-")
}

// groupsOf are the groups of tasks that somebody named.
func groupsOf(all []client.Task) (offers []offer) {
	count := map[string]int{}
	for _, t := range all {
		count[t.Group]++
	}
	for _, t := range all {
		if !strings.HasPrefix(t.Group, "family:") {
			offers = append(offers, offer{t.Group, "group of " + format.Plural(count[t.Group], "task")})
		}
	}
	return offers
}

func groupOffers(s source, inv *invocation.Invocation) ([]offer, error) {
	all, err := s.listed(inv)
	return groupsOf(all), err
}

// afterOffers are what --after takes: ids and groups, also behind any:.
func afterOffers(s source, inv *invocation.Invocation) (offers []offer, err error) {
	all, err := s.listed(inv)
	for _, g := range groupsOf(all) {
		offers = append(offers, offer{"group:" + g.value, g.about})
	}
	for _, t := range all {
		if !t.Stopped() {
			offers = append(offers, offer{t.ID(), format.TaskName(t) + ", " + t.Status})
		}
	}
	if strings.HasPrefix(s.line.word, "any:") {
		for i := range offers {
			offers[i].value = "any:" + offers[i].value
		}
	}
	return offers, err
}

// containerOffers are the containers of the tasks that the line names.
func containerOffers(s source, inv *invocation.Invocation) (offers []offer, err error) {
	all, _ := s.listed(inv)
	var ids []string
	for _, t := range all {
		named := func(word string) bool {
			return word == taskName(t) || word == t.Group || strings.HasPrefix(t.ID(), word)
		}
		if len(ids) < maxNamed && slices.ContainsFunc(s.line.arguments, named) {
			ids = append(ids, t.ID())
		}
	}
	whole, _, err := inv.Client.DescribeTasks(s.ctx, s.cluster(), ids)
	for _, t := range whole {
		for _, c := range t.Containers {
			offers = append(offers, offer{c.Name, format.TaskName(t)})
		}
	}
	return offers, err
}

// maxNamed is how many tasks are asked for the names of their containers: those of a group have the same.
const maxNamed = 10

// imageOffers are what run takes and the pool knows: the image that is built in, and registered definitions.
func imageOffers(s source, inv *invocation.Invocation) ([]offer, error) {
	offers, err := definitionOffers(s, inv)
	if s.line.word == "" { // of images run without registering them there are many
		offers = slices.DeleteFunc(offers, func(o offer) bool { return strings.HasPrefix(o.value, "run-") })
	}
	return append(offers, offer{"pinion/self", "the image that is built in"}), err
}

// definitionOffers are families, or the revisions of the one that has been written.
func definitionOffers(s source, inv *invocation.Invocation) ([]offer, error) {
	family, _, revisions := strings.Cut(s.line.word, ":")
	if !revisions {
		return familyOffers(s, inv)
	}
	var page struct {
		ARNs []string `json:"taskDefinitionArns"`
	}
	err := inv.Client.Call(s.ctx, "ListTaskDefinitions", map[string]any{"familyPrefix": family, "sort": "DESC"}, &page)
	names := make([]string, len(page.ARNs))
	for i, arn := range page.ARNs {
		names[i] = client.ResourceID(arn)
	}
	return offersOf(names), err
}

func familyOffers(s source, inv *invocation.Invocation) ([]offer, error) {
	in := map[string]any{"status": "ACTIVE"}
	if prefix := s.line.word; prefix != "" {
		in["familyPrefix"] = prefix
	}
	var page struct {
		Families []string `json:"families"`
	}
	err := inv.Client.Call(s.ctx, "ListTaskDefinitionFamilies", in, &page)
	return offersOf(page.Families), err
}
