package secrets

import (
	"context"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"pinion/api/auth"
	"pinion/api/wire"
	"pinion/raftfsm/accesskey"
)

// Operation is one line of the table of a service.
type Operation struct {
	Name    string
	Role    accesskey.Role // least role of the access keys that may call it
	Writes  bool           // changes the state
	Scope   auth.Scope
	Lists   bool // looks at every secret of the pool, so only some are answered at once
	Audited bool // changes the state or answers values, so the audit log has its calls
	run     run
}

// run decodes the input of a request and answers it.
type run func(ctx context.Context, r *Request, body []byte) (any, error)

// Describe is an operation that answers no values.
func Describe[In, Out any](name string, s auth.Scope, call func(context.Context, *Request, *In) (*Out, error)) Operation {
	return Operation{Name: name, Role: accesskey.RoleRead, Scope: s, run: func(ctx context.Context, r *Request, body []byte) (any, error) {
		if !utf8.Valid(body) { // it would be decoded, and a value would be another one
			return nil, wire.Errorf(wire.Serialization, "the body must be UTF-8.")
		}
		in := new(In)
		if err := wire.DecodeJSON(body, in, r.Strictness); err != nil {
			return nil, err
		}
		return call(ctx, r, in)
	}}
}

// Reveal is an operation that answers values.
func Reveal[In, Out any](name string, s auth.Scope, call func(context.Context, *Request, *In) (*Out, error)) Operation {
	o := Describe(name, s, call)
	o.Role, o.Audited = accesskey.RoleSubmit, true
	return o
}

// Listing is the operation as one that looks at every secret of the pool.
func (o Operation) Listing() Operation {
	o.Lists = true
	return o
}

// Change is an operation that changes the state. It answers no values: an answer to a change may be kept, and given again.
func Change[In, Out any](name string, s auth.Scope, call func(context.Context, *Request, *In) (*Out, error)) Operation {
	o := Reveal(name, s, call)
	o.Writes = true
	return o
}

// Refuse is an operation that the service of AWS has and Pinion has not, for a reason that is told.
func Refuse(errorType, name, why string) Operation {
	return Operation{Name: name, Role: accesskey.RoleRead, Scope: auth.Unscoped, run: func(context.Context, *Request, []byte) (any, error) {
		return nil, wire.Errorf(errorType, "pinion: %s is not supported: %s", name, why)
	}}
}

// Service is the operations of one service, by name.
type Service struct {
	name       string
	operations map[string]Operation
}

// NewService makes the table of a service. invalid is its type of errors about a member of the input; explain gives other errors a type of the
// service.
func NewService(name, invalid string, explain func(error) error, lines ...Operation) *Service {
	s := &Service{name, make(map[string]Operation, len(lines))}
	for _, line := range lines {
		inner := line.run
		line.run = func(ctx context.Context, r *Request, body []byte) (any, error) {
			out, err := inner(ctx, r, body)
			if err != nil {
				return nil, wire.WithErrorType(invalid, explain(err))
			}
			return out, nil
		}
		s.operations[line.Name] = line
	}
	return s
}

// Find returns the operation of that name, or an error that names the known ones.
func (s *Service) Find(name string) (Operation, error) {
	if found, ok := s.operations[name]; ok {
		return found, nil
	}
	return Operation{}, wire.Errorf(wire.UnknownOperation, "pinion: %.100s is not an operation of %s that Pinion answers: there are %s", name, s.name, strings.Join(s.Names(), ", "))
}

// Names are those of its operations, sorted.
func (s *Service) Names() []string { return slices.Sorted(maps.Keys(s.operations)) }

// Has reports whether there is an operation of that name.
func (s *Service) Has(name string) bool { return s.operations[name].Name != "" }

// Run decodes the input of a request and answers it.
func (o Operation) Run(ctx context.Context, r *Request, body []byte) (any, error) {
	return o.run(ctx, r, body)
}
