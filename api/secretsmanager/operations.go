package secretsmanager

import (
	"errors"
	"net/http"
	"strings"

	"pinion/api/auth"
	"pinion/api/secrets"
	"pinion/api/wire"
	"pinion/raftfsm/secret"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/valuefrom"
)

// Target is the prefix of X-Amz-Target, before the dot and the operation's name; Service is the name in the scope of signatures.
const (
	Target  = "secretsmanager"
	Service = "secretsmanager"
)

// Types of errors, from the service's model.
const (
	invalid           = "InvalidParameterException"
	invalidRequest    = "InvalidRequestException"
	notFound          = "ResourceNotFoundException"
	exists            = "ResourceExistsException"
	limitExceeded     = "LimitExceededException"
	invalidNextToken  = "InvalidNextTokenException"
	decryptionFailure = "DecryptionFailure"
)

// store is where these secrets are among those of a pool.
const store = valuefrom.SecretsManager

// Why operations of AWS are refused.
const (
	noPolicies    = "secrets have no resource policies. The roles, clusters and teams of access keys decide who may read one: the tags " + secret.TagClusters + " and " + secret.TagTeams + " say at its creation whom it is for."
	noRotation    = "Pinion rotates no secrets: write a new version with PutSecretValue, and deploy what uses it anew."
	noReplication = "every server of the pool has all of its secrets, and there are no other regions."
)

// service is the table.
var service = secrets.NewService("AWS Secrets Manager", invalid, explain,
	secrets.Describe("DescribeSecret", auth.PerResource, describeSecret),
	secrets.Describe("ListSecrets", auth.PerResource, listSecrets).Listing(),
	secrets.Describe("ListSecretVersionIds", auth.PerResource, listSecretVersionIDs),
	secrets.Describe("GetResourcePolicy", auth.PerResource, getResourcePolicy),
	secrets.Describe("GetRandomPassword", auth.Unscoped, getRandomPassword),

	secrets.Reveal("GetSecretValue", auth.PerResource, getSecretValue),
	secrets.Reveal("BatchGetSecretValue", auth.PerResource, batchGetSecretValue).Listing(),

	secrets.Change("CreateSecret", auth.PerResource, createSecret),
	secrets.Change("PutSecretValue", auth.PerResource, putSecretValue),
	secrets.Change("UpdateSecret", auth.PerResource, updateSecret),
	secrets.Change("UpdateSecretVersionStage", auth.PerResource, updateSecretVersionStage),
	secrets.Change("DeleteSecret", auth.PerResource, deleteSecret),
	secrets.Change("RestoreSecret", auth.PerResource, restoreSecret),
	secrets.Change("TagResource", auth.PerResource, tagResource),
	secrets.Change("UntagResource", auth.PerResource, untagResource),

	secrets.Refuse(invalidRequest, "PutResourcePolicy", noPolicies),
	secrets.Refuse(invalidRequest, "DeleteResourcePolicy", noPolicies),
	secrets.Refuse(invalidRequest, "ValidateResourcePolicy", noPolicies),
	secrets.Refuse(invalidRequest, "RotateSecret", noRotation),
	secrets.Refuse(invalidRequest, "CancelRotateSecret", noRotation),
	secrets.Refuse(invalidRequest, "ReplicateSecretToRegions", noReplication),
	secrets.Refuse(invalidRequest, "RemoveRegionsFromReplication", noReplication),
	secrets.Refuse(invalidRequest, "StopReplicationToReplica", noReplication),
)

// Find returns the operation of that name, or an error that names the known ones.
func Find(name string) (secrets.Operation, error) { return service.Find(name) }

// Names are those of the operations, sorted.
func Names() []string { return service.Names() }

// Has reports whether there is an operation of that name.
func Has(name string) bool { return service.Has(name) }

// IsTarget reports whether the X-Amz-Target of a request names an operation of Secrets Manager.
func IsTarget(r *http.Request) bool {
	target, _, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	return target == Target
}

// explain gives errors of the state the service's types.
func explain(err error) error {
	for _, known := range []struct {
		err       error
		errorType string
	}{
		{spec.ErrTooManyTags, limitExceeded},
		{spec.ErrLimit, limitExceeded},
		{secrets.ErrNextToken, invalidNextToken},
		{secrets.ErrUnreadable, decryptionFailure},
		{spec.ErrInUse, invalidRequest}, // a tag that stays
	} {
		if errors.Is(err, known.err) {
			return wire.Errorf(known.errorType, "%v.", err)
		}
	}
	if errors.Is(err, spec.ErrInactive) {
		return errDeleted
	}
	return err
}

// Refusals in AWS's words, which clients match.
var (
	errNone    = wire.Errorf(notFound, "Secrets Manager can't find the specified secret.")
	errDeleted = wire.Errorf(invalidRequest, "You can't perform this operation on the secret because it was marked for deletion. RestoreSecret brings it back.")
)

func errInvalid(format string, args ...any) *wire.Error { return wire.Errorf(invalid, format, args...) }

type emptyOutput struct{}
