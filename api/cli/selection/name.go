package selection

import (
	"slices"
	"strings"

	"pinion/api/cli/format"
	"pinion/api/client"
	"pinion/raftfsm/lazyregexp"
	"pinion/raftfsm/spec"
)

// taskName is what people call tasks, as the column TASK has it: the name of a family, of `pinion run --name` or of a group, which may have
// a revision and an index or rank behind it.
type taskName struct {
	word            string // all of it
	base            string
	revision, index string // empty: any
}

var nameForm = lazyregexp.New(`^(.+?)(?::([0-9]{1,9}))?(?:\[([0-9]{1,9})\])?$`)

// parseName takes a word apart; one of another form is a name as a whole.
func parseName(word string) taskName {
	parts := nameForm.FindStringSubmatch(word)
	if parts == nil {
		return taskName{word: word, base: word}
	}
	return taskName{word: word, base: parts[1], revision: parts[2], index: parts[3]}
}

// families are those whose tasks may have the name.
func (n taskName) families() []string {
	return slices.DeleteFunc([]string{n.base, "run-" + n.base}, func(family string) bool { return !spec.ValidName(family) })
}

// isOf reports whether a task has the name by its definition.
func (n taskName) isOf(t client.Task) bool {
	family, revision, _ := strings.Cut(client.ResourceID(t.Definition), ":")
	return slices.Contains(n.families(), family) && (n.revision == "" || n.revision == revision) && n.hasIndex(t)
}

// isGroupOf reports whether a task has the name by its group.
func (n taskName) isGroupOf(t client.Task) bool {
	return t.Group == n.word || t.Group == n.base && n.revision == "" && n.hasIndex(t)
}

func (n taskName) hasIndex(t client.Task) bool { return n.index == "" || n.index == format.Index(t) }
