package raftfsm

import (
	"fmt"
	"iter"
	"slices"

	"pinion/raftfsm/codec"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

// noun describes a type of object in the state: its table, its commands, and its relation to the generic parts. It is
// registered once: in the file of its commands, or in noun_packages.go when it is a package. Snapshots, the changelog, SetTags, Reap and DeleteCluster use the
// registered nouns and need no line of their own; docs/adding-a-noun.md shows one. A noun states the reason for each part
// that it leaves out, so that a test notices a forgotten one.
type noun[T any] struct {
	table    string            // its name in snapshots, which never changes
	indexes  []*table.Index[T] // the first one has every object, under a unique key
	refersTo []string          // tables of the objects that it names or adds to: before it in a snapshot, after it in Reap
	commands []kind            // that make, change and delete its objects

	// changes returns the changelog's entries for a change of an object. before is nil for a new object, after for a
	// deleted one.
	changes   func(before, after *T) []*Change
	emits     []ChangeKind // the kinds of changes that changes returns
	noChanges string       // replaces both: why the changelog leaves the noun out

	// expired visits the objects that Reap deletes; afterReap is called once they are gone.
	expired   func(v *View, r Reap) iter.Seq[*T]
	afterReap func(tx *tx, gone []*T, r Reap)
	noExpiry  string // replaces expired: what deletes the objects, or why they stay

	// keepsCluster returns why a cluster cannot be deleted while objects of this noun belong to it.
	keepsCluster func(v *View, cluster string) error
	noCluster    string // replaces keepsCluster, for objects that name a cluster: why they do not keep it

	tags *tagging[T] // for resources of SetTags; nil: no tags
}

// tagging gives access to the tags of a noun.
type tagging[T any] struct {
	kind     spec.ResourceKind
	find     func(v *View, id string) *T // nil when there is none
	tags     func(object *T) *[]spec.Tag
	readOnly func(object *T) error                  // why the tags cannot be changed any more; nil: they always can
	check    func(object *T, tags []spec.Tag) error // refusal of these tags; nil: never
	change   func(object *T)                        // further changes with the tags, such as a version; nil: none
}

// nounTable is the table of a noun with its descriptor.
type nounTable[T any] struct {
	noun[T]
	*table.Table[T]
}

// registered are the nouns in the compiler's order of initialization. tables and kinds are derived from them.
var registered []anyTable

// register adds a noun, and returns its table.
func register[T any](n noun[T]) *nounTable[T] {
	t := &nounTable[T]{noun: n, Table: table.New(n.table, n.indexes...)}
	registered = append(registered, t)
	return t
}

// anyTable is the table of any noun.
type anyTable interface {
	table.Any

	references() []string
	commandKinds() []kind
	changeKinds() []ChangeKind
	changesOf(before, after any) []*Change // of an object of the table; nil: no object
	hasExpired(v *View, r Reap) bool
	reap(tx *tx, r Reap) (deleted int)
	keeps(v *View, cluster string) error
	resourceKind() spec.ResourceKind // "" without tags
	tagsOf(v *View, id string) (tags []spec.Tag, found bool)
	setTags(tx *tx, c SetTags) ([]spec.Tag, error)
}

var (
	// tables lists every table: what an object refers to comes before it.
	tables []anyTable
	// kinds is the table of commands: testdata/kinds lists them.
	kinds codec.Kinds[Command]
)

func init() {
	tables = table.InOrder(registered, anyTable.references)
	all := slices.Clone(commonKinds)
	for i, t := range tables {
		t.SetPosition(i)
		all = append(all, t.commandKinds()...)
		ChangeKinds = append(ChangeKinds, t.changeKinds()...)
	}
	kinds = codec.NewKinds(all)
}

func (t *nounTable[T]) references() []string      { return t.refersTo }
func (t *nounTable[T]) commandKinds() []kind      { return t.commands }
func (t *nounTable[T]) changeKinds() []ChangeKind { return t.emits }

func (t *nounTable[T]) changesOf(before, after any) []*Change {
	was, _ := before.(*T)
	is, _ := after.(*T)
	if t.changes == nil || was == nil && is == nil {
		return nil
	}
	return t.changes(was, is)
}

func (t *nounTable[T]) hasExpired(v *View, r Reap) bool {
	if t.expired == nil {
		return false
	}
	for range t.expired(v, r) {
		return true
	}
	return false
}

func (t *nounTable[T]) reap(tx *tx, r Reap) int {
	if t.expired == nil {
		return 0
	}
	var gone []*T
	for object := range t.expired(&tx.View, r) {
		tx.remove(t, object)
		gone = append(gone, object)
	}
	if t.afterReap != nil {
		t.afterReap(tx, gone, r)
	}
	return len(gone)
}

func (t *nounTable[T]) keeps(v *View, cluster string) error {
	if t.keepsCluster == nil {
		return nil
	}
	return t.keepsCluster(v, cluster)
}

func (t *nounTable[T]) resourceKind() spec.ResourceKind {
	if t.tags == nil {
		return ""
	}
	return t.tags.kind
}

func (t *nounTable[T]) tagsOf(v *View, id string) (tags []spec.Tag, found bool) {
	object := t.tags.find(v, id)
	if object == nil {
		return nil, false
	}
	return *t.tags.tags(object), true
}

func (t *nounTable[T]) setTags(tx *tx, c SetTags) ([]spec.Tag, error) {
	object := t.tags.find(&tx.View, c.ID)
	if object == nil {
		return nil, c.notFound()
	}
	if t.tags.readOnly != nil {
		if err := t.tags.readOnly(object); err != nil {
			return nil, err
		}
	}
	before := *t.tags.tags(object)
	tags, err := spec.ChangeTags(before, c.Put, c.Remove)
	if err != nil {
		return before, fmt.Errorf("%s %s: %w", c.Kind, c.ID, err)
	}
	if tags == nil {
		return before, nil
	}
	if t.tags.check != nil {
		if err := t.tags.check(object, tags); err != nil {
			return nil, fmt.Errorf("%s %s: %w", c.Kind, c.ID, err)
		}
	}
	changed := *object
	*t.tags.tags(&changed) = tags
	if t.tags.change != nil {
		t.tags.change(&changed)
	}
	tx.put(t, &changed)
	return tags, nil
}
