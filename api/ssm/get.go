package ssm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pinion/api/secrets"
	"pinion/api/wire"
	"pinion/raftfsm/secret"
)

// parameter is one version of a parameter, with its value.
type parameter struct {
	Name             string    `json:"Name"`
	Type             string    `json:"Type"`
	Value            string    `json:"Value"`
	Version          int64     `json:"Version"`
	Selector         string    `json:"Selector,omitempty"`
	LastModifiedDate wire.Time `json:"LastModifiedDate"`
	ARN              string    `json:"ARN"`
	DataType         string    `json:"DataType"`
}

// show is a version of a parameter, for a caller that may read it.
func show(ctx context.Context, r *secrets.Request, s *secret.Secret, v *secret.Version, selector string, decrypt bool) (parameter, error) {
	value, err := valueOf(ctx, r, s, v, decrypt)
	if selector != "" {
		selector = ":" + selector
	}
	return parameter{
		Name: s.Name, Type: s.Parameter.Type, Value: value, Version: v.Number, Selector: selector, LastModifiedDate: wire.NewTime(v.CreatedAt),
		ARN: s.ARN(r.Principal.Region), DataType: s.Parameter.DataType,
	}, err
}

// valueOf is the value of a version. Of a SecureString that is not to be decrypted it is a text that only says which one it is: on AWS it would be
// ciphertext, which nobody has a use for.
func valueOf(ctx context.Context, r *secrets.Request, s *secret.Secret, v *secret.Version, decrypt bool) (string, error) {
	if s.Parameter.Type == secureString && !decrypt {
		return fmt.Sprintf("pinion:sealed:%s:%d", s.Name, v.Number), r.RequireOwner(s)
	}
	return r.Value(ctx, s, v)
}

type getInput struct {
	Name           string `json:"Name"`
	WithDecryption bool   `json:"WithDecryption"`
}

type getOutput struct {
	Parameter parameter `json:"Parameter"`
}

func getParameter(ctx context.Context, r *secrets.Request, in *getInput) (*getOutput, error) {
	shown, err := get(ctx, r, in.Name, in.WithDecryption)
	if err != nil {
		return nil, err
	}
	return &getOutput{shown}, nil
}

func get(ctx context.Context, r *secrets.Request, given string, decrypt bool) (shown parameter, err error) {
	ref, err := parse(given)
	if err != nil {
		return shown, err
	}
	found, err := find(r, ref.Name)
	if err != nil {
		return shown, err
	}
	version, err := findVersion(found, ref)
	if err != nil {
		return shown, err
	}
	return show(ctx, r, found, version, ref.Version, decrypt)
}

type getSeveralInput struct {
	Names          []string `json:"Names"`
	WithDecryption bool     `json:"WithDecryption"`
}

type getSeveralOutput struct {
	Parameters        []parameter `json:"Parameters"`
	InvalidParameters []string    `json:"InvalidParameters"`
}

// getParameters answers the names that there are none of as InvalidParameters. One that the caller may not read is an error, as on AWS.
func getParameters(ctx context.Context, r *secrets.Request, in *getSeveralInput) (*getSeveralOutput, error) {
	if err := checkNames(in.Names); err != nil {
		return nil, err
	}
	out := &getSeveralOutput{Parameters: []parameter{}, InvalidParameters: []string{}}
	for _, name := range in.Names {
		shown, err := get(ctx, r, name, in.WithDecryption)
		switch {
		case err == nil:
			out.Parameters = append(out.Parameters, shown)
		case isType(err, notFound, versionNotFound, invalid):
			out.InvalidParameters = append(out.InvalidParameters, name)
		default:
			return nil, err
		}
	}
	return out, nil
}

func isType(err error, types ...string) bool {
	refusal, ok := errors.AsType[*wire.Error](err)
	return ok && slices.Contains(types, refusal.Type)
}

type byPathInput struct {
	Path             string   `json:"Path"`
	Recursive        bool     `json:"Recursive"`
	WithDecryption   bool     `json:"WithDecryption"`
	ParameterFilters []filter `json:"ParameterFilters"`
	secrets.Paging
}

type byPathOutput struct {
	Parameters []parameter `json:"Parameters"`
	NextToken  string      `json:"NextToken,omitempty"`
}

// maxByPath is AWS's most parameters of one page.
const maxByPath = 10

// getParametersByPath answers what is below a path. It is an error when the caller may not read all of a page: a program that reads its settings this
// way would start with a part of them.
func getParametersByPath(ctx context.Context, r *secrets.Request, in *byPathInput) (*byPathOutput, error) {
	if err := checkPath(in.Path); err != nil {
		return nil, err
	}
	matches, label, err := compileByPath(in.ParameterFilters)
	if err != nil {
		return nil, err
	}
	found := slices.DeleteFunc(r.All(store), func(s *secret.Secret) bool {
		return !isBelow(s.Name, in.Path, in.Recursive) || !matches(s) || labelled(s, label) == nil
	})
	page, next, err := secrets.Page(in.Paging, found, maxByPath, byName)
	if err != nil {
		return nil, err
	}
	out := &byPathOutput{Parameters: []parameter{}, NextToken: next}
	for _, s := range page {
		shown, err := show(ctx, r, s, labelled(s, label), label, in.WithDecryption)
		if err != nil {
			return nil, err
		}
		out.Parameters = append(out.Parameters, shown)
	}
	return out, nil
}

// labelled is the version with a label, the newest when it is empty; nil when there is none.
func labelled(s *secret.Secret, label string) *secret.Version {
	if label == "" {
		return newest(s)
	}
	return s.Staged(label)
}

// byName is the order of the state.
var byName = secrets.Order[*secret.Secret]{Key: func(s *secret.Secret) string { return strings.TrimPrefix(s.Name, "/") }}

func checkPath(path string) error {
	if !strings.HasPrefix(path, "/") || !nameText.MatchString(path) || len(path) > maxName {
		return errInvalid("The parameter path must begin with a slash, and be of letters, numbers and .-_/, not %.300q.", path)
	}
	return nil
}

// isBelow reports whether a parameter is below a path: right below it, or, when that is recursive, anywhere.
func isBelow(name, path string, recursive bool) bool {
	prefix := strings.TrimSuffix(path, "/") + "/"
	rest, is := strings.CutPrefix("/"+strings.TrimPrefix(name, "/"), prefix)
	return is && rest != "" && (recursive || !strings.Contains(rest, "/"))
}
