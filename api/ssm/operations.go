package ssm

import (
	"errors"

	"pinion/api/auth"
	"pinion/api/secrets"
	"pinion/api/wire"
	"pinion/raftfsm/secret"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/valuefrom"
)

// Target is the prefix of X-Amz-Target, before the dot and the operation's name; Service is the name in the scope of signatures.
const (
	Target  = "AmazonSSM"
	Service = "ssm"
)

// Types of errors, from the service's model.
const (
	invalid          = "ValidationException"
	notFound         = "ParameterNotFound"
	alreadyExists    = "ParameterAlreadyExists"
	versionNotFound  = "ParameterVersionNotFound"
	limitExceeded    = "ParameterLimitExceeded"
	tooManyVersions  = "ParameterMaxVersionLimitExceeded"
	tooManyLabels    = "ParameterVersionLabelLimitExceeded"
	tooManyLevels    = "HierarchyLevelLimitExceededException"
	tooManyTags      = "TooManyTagsError"
	tooManyUpdates   = "TooManyUpdates"
	invalidPattern   = "InvalidAllowedPatternException"
	patternMismatch  = "ParameterPatternMismatchException"
	invalidFilterKey = "InvalidFilterKey"
	invalidOption    = "InvalidFilterOption"
	invalidValue     = "InvalidFilterValue"
	invalidNextToken = "InvalidNextToken"
	invalidResource  = "InvalidResourceId"
	invalidKind      = "InvalidResourceType"
)

// store is where parameters are among the secrets of a pool.
const store = valuefrom.ParameterStore

// service is the table.
var service = secrets.NewService("AWS Systems Manager", invalid, explain,
	secrets.Describe("DescribeParameters", auth.PerResource, describeParameters).Listing(),
	secrets.Describe("ListTagsForResource", auth.PerResource, listTagsForResource),

	secrets.Reveal("GetParameter", auth.PerResource, getParameter),
	secrets.Reveal("GetParameters", auth.PerResource, getParameters),
	secrets.Reveal("GetParametersByPath", auth.PerResource, getParametersByPath).Listing(),
	secrets.Reveal("GetParameterHistory", auth.PerResource, getParameterHistory),

	secrets.Change("PutParameter", auth.PerResource, putParameter),
	secrets.Change("DeleteParameter", auth.PerResource, deleteParameter),
	secrets.Change("DeleteParameters", auth.PerResource, deleteParameters),
	secrets.Change("LabelParameterVersion", auth.PerResource, labelParameterVersion),
	secrets.Change("UnlabelParameterVersion", auth.PerResource, unlabelParameterVersion),
	secrets.Change("AddTagsToResource", auth.PerResource, addTagsToResource),
	secrets.Change("RemoveTagsFromResource", auth.PerResource, removeTagsFromResource),
)

// Find returns the operation of that name, or an error that names the known ones.
func Find(name string) (secrets.Operation, error) { return service.Find(name) }

// Names are those of the operations, sorted.
func Names() []string { return service.Names() }

// Has reports whether there is an operation of that name.
func Has(name string) bool { return service.Has(name) }

// explain gives errors of the state the service's types.
func explain(err error) error {
	for _, known := range []struct {
		err       error
		errorType string
	}{
		{secret.ErrTooMany, limitExceeded},
		{spec.ErrTooManyTags, tooManyTags},
		{spec.ErrLimit, tooManyVersions},
		{secret.ErrChanged, tooManyUpdates},
		{secrets.ErrNextToken, invalidNextToken},
		{spec.ErrInUse, invalid}, // a tag that stays
	} {
		if errors.Is(err, known.err) {
			return wire.Errorf(known.errorType, "%v.", err)
		}
	}
	return err
}

func errInvalid(format string, args ...any) *wire.Error { return wire.Errorf(invalid, format, args...) }

type emptyOutput struct{}
