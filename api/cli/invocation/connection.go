package invocation

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/client"
)

// Connection is the host that a command talks to, and the key that it acts with.
type Connection struct {
	client.Config
	Because string // what names the key: "--key-id", "the login lab"; empty: nothing does, and root of this machine acts with the rights of its host
	Context string // whose login names the host; empty: none
	Passed  string // what names another key, and is passed over, and what would use it; empty: nothing does

	// MayBeUnknown: the key may be Amazon's. If the pool does not know it, root of this machine acts.
	MayBeUnknown bool
}

// givenKey is an access key of the command line or of the environment.
type givenKey struct {
	id, secret, from string
	// ours: it is meant for Pinion. Otherwise it may be Amazon's, which lies in many environments.
	ours bool
}

// keyOf is the key that was given; its id is empty when none was. What is nearer to the command comes first.
func keyOf(c *cli.Context) givenKey {
	for _, k := range []givenKey{
		{GlobalFlag(c, "key-id"), cmp.Or(GlobalFlag(c, keySecret), os.Getenv("PINION_SECRET_ACCESS_KEY"), os.Getenv("AWS_SECRET_ACCESS_KEY")), "--key-id", true},
		{os.Getenv("PINION_ACCESS_KEY_ID"), cmp.Or(GlobalFlag(c, keySecret), os.Getenv("PINION_SECRET_ACCESS_KEY")), "PINION_ACCESS_KEY_ID", true},
		{os.Getenv("AWS_ACCESS_KEY_ID"), cmp.Or(GlobalFlag(c, keySecret), os.Getenv("AWS_SECRET_ACCESS_KEY")), "AWS_ACCESS_KEY_ID", false},
	} {
		if k.id != "" {
			return k
		}
	}
	return givenKey{}
}

// Connect decides which host a command talks to and which key it acts with; this is the only place that does.
//
// The host is that of --host or of --context, or else the one on this machine, if the user may use its socket or names its data
// directory, or else that of the current login. The key is the one that is meant for Pinion: of --key-id or PINION_ACCESS_KEY_ID, or of
// the context that is named. AWS_ACCESS_KEY_ID is the key for --host; on the socket it acts if the pool knows it, for it may be Amazon's.
// Whatever names a key and does not act is in Passed: nobody gets other rights than those of the key that they set without being told.
func Connect(c *cli.Context, now time.Time) (Connection, error) {
	to := Connection{Config: client.Config{Socket: filepath.Join(DataDir(c), "pinion.sock"), Host: GlobalFlag(c, "host"), Region: GlobalFlag(c, "region")}}
	key, name := keyOf(c), GlobalFlag(c, "context")
	switch {
	case name != "" && to.Host != "":
		return to, exit.Usagef("--context (PINION_CONTEXT) and --host (PINION_HOST) both name a host: use one of them")
	case name != "" && key.ours:
		return to, exit.Usagef("--context (PINION_CONTEXT) and %s both name an access key: use one of them", key.from)
	case key.ours && key.secret == "":
		return to, exit.Usagef("%s names an access key without its secret: set PINION_SECRET_ACCESS_KEY, or give --key-secret", key.from)
	case to.Host != "":
		return connectTo(c, to, key, now)
	case name == "" && (DataDir(c) != DefaultDataDir || mayUse(to.Socket)):
		return connectHere(to, key)
	}
	return connectByLogin(c, to, name, key, now)
}

// connectTo is the connection to the host of --host: with the key that was given, or that of a login there.
func connectTo(c *cli.Context, to Connection, key givenKey, now time.Time) (Connection, error) {
	var err error
	if to.Host, err = client.Address(to.Host); err != nil {
		return to, exit.Usagef("--host: %w", err)
	}
	to.KeyID, to.Secret, to.CAFile, to.Because = key.id, key.secret, GlobalFlag(c, "ca"), key.from
	if key.id != "" {
		return to, nil
	}
	login, context, err := loginOf("")
	if login == nil || to.Host != login.Host {
		return to, err
	}
	return to.with(c, login, context, now)
}

// connectHere is the connection to the host on this machine.
func connectHere(to Connection, key givenKey) (Connection, error) {
	switch {
	case key.ours:
		to.KeyID, to.Secret, to.Because = key.id, key.secret, key.from
	case key.id != "" && key.secret != "" && os.Getenv("AWS_SESSION_TOKEN") == "": // with one it is Amazon's: Pinion has none
		to.KeyID, to.Secret, to.Because, to.MayBeUnknown = key.id, key.secret, key.from, true
	case key.id != "":
		to.Passed = fmt.Sprintf("%s (%s), which is no key of Pinion: it has a session token or no secret", key.from, key.id)
	}
	if key.id != "" {
		return to, nil
	}
	if login, context, err := loginOf(""); err == nil && login != nil {
		to.Passed = fmt.Sprintf("the login %s for %s: --context %s uses it", context, login.Host, context)
	}
	return to, nil
}

// connectByLogin is the connection of a login: with the key of the command line in its place, if there is one.
func connectByLogin(c *cli.Context, to Connection, name string, key givenKey, now time.Time) (Connection, error) {
	login, context, err := loginOf(name)
	if login == nil {
		to.KeyID, to.Secret, to.Because = "", "", "" // nobody answers, which the request says
		return to, err
	}
	if key.ours {
		to.Host, to.KeyID, to.Secret, to.CAFile, to.Because = login.Host, key.id, key.secret, cmp.Or(login.CAFile, GlobalFlag(c, "ca")), key.from
		return to, nil
	}
	if to, err = to.with(c, login, context, now); name == "" && key.id != "" && key.id != login.KeyID {
		to.Passed = fmt.Sprintf("%s (%s): --host %s uses it", key.from, key.id, login.Host)
	}
	return to, err
}

// with is the connection with a login.
func (to Connection) with(c *cli.Context, login *Login, context string, now time.Time) (Connection, error) {
	if err := login.Check(now); err != nil {
		return to, err
	}
	to.Host, to.KeyID, to.Secret, to.Context, to.Because = login.Host, login.KeyID, login.Secret, context, "the login "+context
	to.CAFile = cmp.Or(login.CAFile, GlobalFlag(c, "ca")) // AWS_CA_BUNDLE may be for another cloud
	return to, nil
}

// Actor is who acts, for people.
func (to Connection) Actor() string {
	if to.KeyID == "" {
		return "root of this machine, with the rights of its host"
	}
	return "access key " + to.KeyID + " of " + to.Because
}

// loginOf is the login of a context, and the name of it: of the current one, which may have none, without a name.
func loginOf(context string) (*Login, string, error) {
	if context != "" {
		if err := NeedContext(context); err != nil {
			return nil, context, err
		}
		login, err := ReadLogin(context)
		return login, context, err
	}
	current, err := CurrentContext()
	if errors.Is(err, errNoConfigDir) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	login, err := ReadLogin(current)
	return login, current, err
}
