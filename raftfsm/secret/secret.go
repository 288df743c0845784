package secret

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
	"pinion/raftfsm/valuefrom"
)

// Resource is the kind of resource that tags are set of. Its ids are those of Secret.ID.
const Resource spec.ResourceKind = "secret"

// TagClusters is the tag that says at its creation which clusters a secret is for, with blanks between. Without it, it is for those of the key that
// creates it.
const TagClusters = "pinion.clusters"

const (
	// Max bounds the parameters and secrets of a pool.
	Max = 10_000
	// MaxVersions bounds the versions of each. The oldest go that have neither a stage nor a label.
	MaxVersions = 20
	// MaxVersionBytes bounds all versions of one, sealed. The oldest go as above.
	MaxVersionBytes = 512 << 10
	// MaxBytes bounds what a pool keeps, sealed.
	MaxBytes = 64 << 20
)

// ErrTooMany refuses what does not fit beside the others.
var ErrTooMany = fmt.Errorf("%w: a pool keeps %d parameters and secrets, %d MiB in all", spec.ErrLimit, Max, MaxBytes>>20)

// Secret is a parameter or a secret.
type Secret struct {
	Store       valuefrom.Store `json:"store"` // ParameterStore or SecretsManager
	Name        string          `json:"name"`
	Suffix      string          `json:"suffix,omitempty"`   // six letters and digits at the end of the ARN of a secret
	Clusters    spec.ClusterSet `json:"clusters,omitempty"` // whose tasks may use it; empty: all
	Description string          `json:"description,omitempty"`
	KeyID       string          `json:"keyId,omitempty"` // as it was given: the pool's own key seals it
	Parameter   Parameter       `json:"parameter,omitzero"`

	Versions  []Version  `json:"versions,omitempty"` // the oldest first
	Tags      []spec.Tag `json:"tags,omitempty"`
	CreatedAt time.Time  `json:"createdAt"`
	ChangedAt time.Time  `json:"changedAt"`
	DeletedAt time.Time  `json:"deletedAt,omitzero"` // when its deletion was asked for; zero: it was not
	DeleteAt  time.Time  `json:"deleteAt,omitzero"`  // when it goes for good
	Revision  int64      `json:"revision"`           // grows by one with each change

	Teams []string `json:"teams,omitempty" level:"1"` // whose tasks in its clusters may use it, sorted; empty: all, and tasks without a team
}

// Parameter has the members that only parameters have, verbatim from Systems Manager.
type Parameter struct {
	Type           string `json:"type,omitempty"` // String, StringList or SecureString
	DataType       string `json:"dataType,omitempty"`
	Tier           string `json:"tier,omitempty"`
	AllowedPattern string `json:"allowedPattern,omitempty"`
}

// Version is one value, sealed.
type Version struct {
	ID        string    `json:"id"`               // of a secret's version
	Number    int64     `json:"number,omitempty"` // of a parameter's, from 1
	Stages    []string  `json:"stages,omitempty"` // of a secret's: AWSCURRENT and others; of a parameter's: its labels
	Binary    bool      `json:"binary,omitempty"` // the value is SecretBinary, in base64
	CreatedAt time.Time `json:"createdAt"`
	By        string    `json:"by,omitempty"` // ARN of the principal
	Sealed    []byte    `json:"sealed"`
	Seal      string    `json:"seal"` // name of the sealing key
}

// Stages of the versions of a secret, verbatim from Secrets Manager.
const (
	Current  = "AWSCURRENT"
	Previous = "AWSPREVIOUS"
	Pending  = "AWSPENDING"
)

var (
	byName = table.By(func(s *Secret) string { return string(s.Store) }).Then(func(s *Secret) string { return key(s.Store, s.Name) })
	// deleted has those that are to be deleted.
	deleted = table.By(func(s *Secret) string { return string(s.Store) }).Then(func(s *Secret) string { return key(s.Store, s.Name) }).Where(func(s *Secret) bool { return !s.DeleteAt.IsZero() })
)

// Indexes are those of the table.
func Indexes() []*table.Index[Secret] { return []*table.Index[Secret]{byName, deleted} }

// key returns the key of a name: a parameter of one level has the same ARN with a slash before its name.
func key(store valuefrom.Store, name string) string {
	if store == valuefrom.ParameterStore {
		return strings.TrimPrefix(name, "/")
	}
	return name
}

// Find returns the one of a name; nil when there is none. The name of a secret may end in its suffix.
func Find(r table.Reader, store valuefrom.Store, name string) *Secret {
	if found := byName.Get(r, sortkey.Key{First: string(store), Second: key(store, name)}); found != nil || store != valuefrom.SecretsManager {
		return found
	}
	if at := strings.LastIndexByte(name, '-'); at > 0 {
		if found := byName.Get(r, sortkey.Key{First: string(store), Second: name[:at]}); found != nil && found.Suffix == name[at+1:] {
			return found
		}
	}
	return nil
}

// All visits those of a store by name.
func All(r table.Reader, store valuefrom.Store) iter.Seq[*Secret] {
	return byName.Scan(r, string(store))
}

// ID is the store and the name, for tags.
func (s *Secret) ID() string { return string(s.Store) + "/" + s.Name }

// FindID finds the one of an ID; nil when there is none.
func FindID(r table.Reader, id string) *Secret {
	store, name, _ := strings.Cut(id, "/")
	return Find(r, valuefrom.Store(store), name)
}

// NotSealedWith lists those of which a version is not sealed with a sealing key.
func NotSealedWith(r table.Reader, seal string) []*Secret {
	return slices.Collect(byName.Matching(r, func(s *Secret) bool {
		return slices.ContainsFunc(s.Versions, func(v Version) bool { return v.Seal != seal })
	}))
}

// Seals are the names of the sealing keys that the versions of all are sealed with.
func Seals(r table.Reader) (names []string) {
	for s := range byName.All(r) {
		for i := range s.Versions {
			if seal := s.Versions[i].Seal; !slices.Contains(names, seal) { // there are few
				names = append(names, seal)
			}
		}
	}
	return names
}

// Expired visits those whose time to go has come.
func Expired(r table.Reader, before time.Time) iter.Seq[*Secret] {
	return deleted.Matching(r, func(s *Secret) bool { return s.DeleteAt.Before(before) })
}

// Tags are those of a secret, to be changed.
func Tags(s *Secret) *[]spec.Tag { return &s.Tags }

// CountChange is for a change beside those of the commands.
func CountChange(s *Secret) { s.Revision++ }

// ReadOnly refuses changes of one that is to be deleted.
func ReadOnly(s *Secret) error {
	if s.DeleteAt.IsZero() {
		return nil
	}
	return fmt.Errorf("%s %s: %w: it is to be deleted", s.Kind(), s.Name, spec.ErrInactive)
}

// CheckTags refuses tags that would give it to other clusters or teams than it was created for.
func CheckTags(s *Secret, tags []spec.Tag) error {
	for _, tag := range tags {
		if tag.Key == TagClusters && spec.NewClusterSet(strings.Fields(tag.Value)) != s.Clusters {
			return fmt.Errorf("%w: the tag %s says at its creation which clusters it is for, and stays", spec.ErrInUse, TagClusters)
		}
		if tag.Key == TagTeams && !slices.Equal(NewTeams(strings.Fields(tag.Value)), s.Teams) {
			return fmt.Errorf("%w: the tag %s says at its creation which teams it is for, and stays", spec.ErrInUse, TagTeams)
		}
	}
	return nil
}

// Kind returns the word that people have for it.
func (s *Secret) Kind() string {
	return cmp.Or(map[valuefrom.Store]string{valuefrom.ParameterStore: "parameter"}[s.Store], "secret")
}

// ARN is its ARN as AWS writes it.
func (s *Secret) ARN(region string) string {
	prefix := "arn:aws:" + string(s.Store) + ":" + region + ":" + spec.AccountID
	if s.Store == valuefrom.ParameterStore {
		return prefix + ":parameter/" + key(s.Store, s.Name)
	}
	return prefix + ":secret:" + s.Name + "-" + s.Suffix
}

// SealID returns the text that a version is sealed together with: a value opens as that of its own secret and version only.
func (s *Secret) SealID(v *Version) string {
	return fmt.Sprintf("secret %s %q %d %q", s.Store, s.Name, v.Number, v.ID)
}

// bytes returns the size of its sealed versions.
func (s *Secret) bytes() (n int) {
	for i := range s.Versions {
		n += len(s.Versions[i].Sealed)
	}
	return n
}
