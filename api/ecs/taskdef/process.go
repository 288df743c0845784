package taskdef

import (
	"slices"
	"strconv"
	"strings"

	"github.com/distribution/reference"

	"pinion/api/ecs/field"
	"pinion/raftfsm/lazyregexp"
	"pinion/raftfsm/linux"
)

// userName matches a name in /etc/passwd or /etc/group, or a number.
var userName = lazyregexp.New(`^([A-Za-z_][A-Za-z0-9_.-]{0,254}\$?|[0-9]{1,10})$`)

// maxUserID is the largest user or group number that container runtimes take.
const maxUserID = 1<<31 - 1

// checkProcess holds the rules for what a container runs: what could only fail at its start is refused here.
func checkProcess(c container) error {
	if _, err := reference.ParseDockerRef(c.Image); err != nil {
		return c.errorf("image", "image %.300q is not the name of an image: %v.", c.Image, err)
	}
	for member, words := range map[string][]string{"command": c.Command, "entryPoint": c.EntryPoint} {
		if hasNUL(words) {
			return c.errorf(member, "%s must not contain NUL characters.", member)
		}
	}
	if !validUser(c.User) {
		return c.errorf("user", "user %.300q must be a name or a number of at most %d, with a group after a colon if there is one: user, uid, user:group, uid:gid.", c.User, maxUserID)
	}
	if c.WorkingDirectory != "" && !validPath(c.WorkingDirectory) {
		return c.errorf("workingDirectory", "workingDirectory %.300q must be an absolute path of at most %d bytes.", c.WorkingDirectory, maxPath)
	}
	for i, option := range c.DockerSecurityOptions {
		if !linux.ValidSecurityOption(option) {
			return c.errorf(field.Index("dockerSecurityOptions", i), "dockerSecurityOptions %.300q is not supported by Pinion yet: containers have the host's seccomp and AppArmor profiles, and no-new-privileges and apparmor:PROFILE tighten them.", option)
		}
	}
	return nil
}

func hasNUL(words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(word, "\x00") })
}

func validUser(user string) bool {
	if user == "" {
		return true
	}
	for part := range strings.SplitSeq(user, ":") {
		if number, err := strconv.ParseInt(part, 10, 64); !userName.MatchString(part) || err == nil && number > maxUserID {
			return false
		}
	}
	return strings.Count(user, ":") <= 1
}
