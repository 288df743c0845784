package valuefrom

import (
	"errors"
	"strings"
	"testing"
)

func TestCredentialsOfARegistryAreASecret(t *testing.T) {
	for given, want := range map[string]string{
		"hub": "hub", "team/hub": "team/hub", "arn:aws:secretsmanager:us-east-1:1:secret:team/hub-AbCdEf": "team/hub-AbCdEf", "arn:aws:secretsmanager:us-east-1:1:secret:hub::AWSPREVIOUS:": "hub",
		"": "", "hub:3": "", "arn:aws:ssm:us-east-1:1:parameter/hub": "", "arn:aws:secretsmanager:us-east-1:1:secret:hub:password::": "", "pinion:command:x:y": "", "arn:aws:s3:::hub": "",
	} {
		ref, err := ParseRegistry(given)
		if (err == nil) != (want != "") || err == nil && (ref.Name != want || ref.Store != SecretsManager) {
			t.Errorf("%q: %+v, %v", given, ref, err)
		}
	}
}

func TestTheSecretOfARegistryHasAUserAndAPassword(t *testing.T) {
	user, password, err := RegistryLogin([]byte(`{"username":"me","password":"p\"w","email":"x"}`))
	if user != "me" || password != `p"w` || err != nil {
		t.Errorf("%q %q %v", user, password, err)
	}
	for _, value := range []string{``, `hunter2`, `{}`, `{"username":"hunter2"}`, `{"username":"","password":"hunter2"}`, `{"username":"hunter2","password":1}`, `["hunter2"]`} {
		if _, _, err := RegistryLogin([]byte(value)); !errors.Is(err, ErrUnresolved) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", value, err)
		}
	}
}
