package valuefrom

import (
	"encoding/json"
	"fmt"
)

// RepositoryCredentials is ECS's member of a container: the secret of the registry of its image.
type RepositoryCredentials struct {
	CredentialsParameter string `json:"credentialsParameter"`
}

// ParseRegistry reads a credentialsParameter: the name or the ARN of a secret of Secrets Manager, whole.
func ParseRegistry(credentialsParameter string) (Reference, error) {
	ref, err := Parse(credentialsParameter)
	if err == nil && (ref.Store != SecretsManager && ref.Store != AnyStore || ref.JSONKey != "" || ref.Store == AnyStore && ref.Version != "") {
		err = fmt.Errorf("credentialsParameter %.300q is neither the name of a secret nor its ARN (arn:aws:secretsmanager:REGION:ACCOUNT:secret:NAME)", credentialsParameter)
	}
	if ref.Store == AnyStore {
		ref.Store = SecretsManager
	}
	return ref, err
}

// RegistryLogin reads the value of a secret with the credentials of a registry, a JSON object with username and password. Errors do not tell
// the value.
func RegistryLogin(value []byte) (username, password string, err error) {
	var login struct{ Username, Password string }
	if json.Unmarshal(value, &login) != nil || login.Username == "" || login.Password == "" {
		return "", "", fmt.Errorf(`it is not {"username": ..., "password": ...} with two texts that are not empty: %w`, ErrUnresolved)
	}
	return login.Username, login.Password, nil
}
