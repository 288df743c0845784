package invocation

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"pinion/packaging/atomicfile"
)

// Login is what `pinion login` has got, in a file that only its owner may read. Each context has one: the next login takes its place.
type Login struct {
	Host    string    `json:"host"` // host:port
	CAFile  string    `json:"caFile,omitempty"`
	Person  string    `json:"person,omitempty"` // empty for a key that somebody has created
	KeyID   string    `json:"accessKeyId"`
	Secret  string    `json:"secretAccessKey"`
	Expires time.Time `json:"expiresAt,omitzero"` // zero: until the key is removed
}

// ReadLogin returns the login of a context of this user, expired or not; nil when there is none. A file that others may read is
// refused: the key in it may be theirs too.
func ReadLogin(context string) (*Login, error) {
	dir, err := contextDir(context)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, loginFile)
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 { // Windows protects the directory
		return nil, errors.Join(err, fmt.Errorf("other users may use %s, which holds an access key: remove the key (`pinion key rm`) and log in again, or `chmod 600` it if they have not", path))
	}
	text, err := io.ReadAll(io.LimitReader(file, 64<<10))
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
	if l.Expires.IsZero() || now.Before(l.Expires) {
		return nil
	}
	return fmt.Errorf("the login of %s at %s has expired at %s: log in again with `pinion login`", l.Person, l.Host, l.Expires.Local().Format(time.DateTime))
}

// Save keeps the login in a context, with the CA (PEM, nil for those of the operating system), and makes that the current context.
func (l Login) Save(context string, ca []byte) error {
	dir, err := contextDir(context)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if l.CAFile = ""; ca != nil {
		l.CAFile = filepath.Join(dir, "ca.pem")
		if err := atomicfile.Write(l.CAFile, ca, 0o644); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(dir, loginFile), append(text, '\n'), 0o600); err != nil {
		return err
	}
	return UseContext(context)
}
