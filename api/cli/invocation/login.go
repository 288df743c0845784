package invocation

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"pinion/packaging/atomicfile"
)

// Login is what `pinion login` has got, in a file that only its owner may read. There is one: the next login takes its place.
type Login struct {
	Host    string    `json:"host"` // host:port
	CAFile  string    `json:"caFile,omitempty"`
	Person  string    `json:"person"`
	KeyID   string    `json:"accessKeyId"`
	Secret  string    `json:"secretAccessKey"`
	Expires time.Time `json:"expiresAt"`
}

// loginDir is the directory of the login; false where the user has none.
func loginDir() (string, bool) {
	dir, err := os.UserConfigDir()
	return filepath.Join(dir, "pinion"), err == nil
}

// ReadLogin returns the login of this user, expired or not; nil when there is none.
func ReadLogin() (*Login, error) {
	dir, has := loginDir()
	if !has {
		return nil, nil
	}
	path := filepath.Join(dir, "login.json")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	login := new(Login)
	if err := json.Unmarshal(text, login); err != nil || login.Host == "" || login.KeyID == "" || login.Secret == "" {
		return nil, fmt.Errorf("%s is damaged: log in again with `pinion login --host HOST:PORT`, or remove it", path)
	}
	return login, nil
}

// Check refuses a login that has expired.
func (l *Login) Check(now time.Time) error {
	if now.Before(l.Expires) {
		return nil
	}
	return fmt.Errorf("the login of %s at %s has expired at %s: log in again with `pinion login`", l.Person, l.Host, l.Expires.Local().Format(time.DateTime))
}

// Save keeps the login, with a copy of the CA file: the one that it was made with may go away.
func (l Login) Save(caFile string) error {
	dir, has := loginDir()
	if !has {
		return errors.New("this user has no directory for configuration: set HOME or XDG_CONFIG_HOME")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if l.CAFile = ""; caFile != "" {
		ca, err := os.ReadFile(caFile)
		if err != nil {
			return fmt.Errorf("CA file: %w", err)
		}
		l.CAFile = filepath.Join(dir, "ca.pem")
		if err := atomicfile.Write(l.CAFile, ca, 0o644); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, "login.json"), append(text, '\n'), 0o600)
}
