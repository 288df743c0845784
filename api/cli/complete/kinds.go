package complete

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// kind is what a word stands for: the name of a list in the pool, files, fixed words with blanks between, or nothing that can be listed.
type kind string

// What is looked up in the pool, or here.
const (
	free        kind = ""
	file        kind = "FILE"
	tasks       kind = "TASK"
	hosts       kind = "HOST"
	clusters    kind = "CLUSTER"
	teams       kind = "TEAM"
	families    kind = "FAMILY"
	groups      kind = "GROUP"
	keys        kind = "KEY"
	joinTokens  kind = "TOKEN"
	contexts    kind = "CONTEXT"
	definitions kind = "DEFINITION"
	images      kind = "IMAGE"
	columns     kind = "COLUMN="
	templates   kind = "{{.COLUMN}}"
	after       kind = "AFTER"
	logins      kind = "LOGIN GROUP"
	containers  kind = "CONTAINER"
	services    kind = "SERVICE"
	gpus        kind = "GPU"
	secrets     kind = "SECRET"
	poolImages  kind = "POOL-IMAGE"
	daemons     kind = "DAEMON"
	taskSecrets kind = "NAME=SECRET"
)

// flagKinds says for every flag with a value what that is; a flag of one command, such as "up gpus", goes before the others of its name.
// It is whole: a test looks for what is missing.
var flagKinds = map[string]kind{
	"cluster": clusters, "team": teams, "family": families, "group": groups, "key": keys, "context": contexts, "filter": columns, "format": templates,
	"on-host": hosts, "spread": "host attribute:", "gpu-model": free, "gpu-alternatives": free, "gpu-memory-min": free, "mig-profile": free, "constraint": free,
	"after": after, "container": containers, "grep": free, "columns": free, "events format": free, "login group": free, "run group": groups,

	"output": "table wide json", "role": "read submit admin", "token role": "host", "token create role": "host", "state": "succeeded failed stopped", "network": "bridge host awsvpc none",
	"shell": "sh fish", "type": "task host cluster gpu leader service service-action deployment hook refusal", "log-level": "debug info warn error", "idle-action": "stop requeue", "by": "team key family day", "servers": "1 3 5",
	"mig": "static dynamic", "up gpus": "auto auto,mps none sim:8xh100 sim:8xh100,mps", "allow": "privileged host-pid host-ipc", "run lost-after": "10m never", "definition": definitions, "rollout": "stop-first wait", "service update container": free,

	"project-name": free, "profile": free, "data-dir": file, "config": file, "ca": file, "env-file": file, "file": file, "token-file": file, "registry-config": file, "release-key": free, "signature": file, "step": free, "dwell": free, "otlp-endpoint": "https://", "containerd": file, "hosts": file, "init hosts": free, "binary": file,
	"tasks": file, "issuer-ca": file, "acme-ca": file, "acme": "letsencrypt", "volume": file, "device": file, "bucket": file, "file-system": free, "log-destination": "remote unix:///dev/log tcp://127.0.0.1:24224", "policy": "default", "unlock": "ask file:", "new": "ask file:",

	"acme-email": free, "advertise": free, "array": free, "attribute": free, "client-id": free, "count": free, "cpus": free, "deadline": free, "entrypoint": free, "env": free, "gpus": free, "gpu-memory": free, "gpu-compute": free,
	"groups-claim": free, "host": free, "image-gc-high": free, "image-gc-low": free, "image-max-age": free, "image-upload-rate": free, "inflate": free, "issuer": free, "join": free,
	"task-network": free, "subnet": free, "keep-tasks": free, "keep-tasks-count": free, "keep-tasks-size": free, "key-id": free, "label": free, "lifetime": free, "limit": free, "listen": free, "lost-after": free,
	"on": free, "copies": free, "max-container-logs": free, "max-gpus": free, "max-logs": free, "max-priority": free, "max-requests": free, "max-revisions": free, "max-stop-timeout": free,
	"max-task-logs": free, "max-tasks": free, "max-waiting": free, "memory": free, "min-free": free, "name": free, "pids-limit": free, "priority": free, "service": free,
	"publish": free, "port": free, "quota": free, "alias": free, "virtual-addresses": free, "virtual-ip": free, "dns-listen": free, "reason": free, "region": free, "replace-after": free, "retry-on": free, "retries": free, "revisions": free, "revisions-of-family": free, "scope": free,
	"key-secret": free, "secret": taskSecrets, "registry-secret": secrets, "secret-files": free, "secret-command": free, "for-cluster": clusters, "for-team": teams, "version": free, "stage": "AWSCURRENT AWSPREVIOUS AWSPENDING", "description": free, "days": free, "seeds": free, "shm-size": free, "since": free, "stop-timeout": free, "tail": free, "limits tasks": free, "time-limit": free, "idle-timeout": free, "timeout": free,
	"grace": free, "healthy-after": free, "hook": free, "image": free, "max": free, "min": free, "target": "cpu= memory= queue-depth=", "in-cooldown": free, "out-cooldown": free, "min-healthy": free, "replicas": free,
	"to": file, "token": free, "ttl": free, "ulimit": free, "until": free, "user": free, "user-claim": free, "uses": free, "waiting": free, "weight": free, "workdir": free,
}

// argumentKinds says what the arguments of a command are, by how its usage names them.
var argumentKinds = map[string]kind{
	"TASK": tasks, "HOST": hosts, "TEAM": teams, "FILE": file, "FAMILY": families, "FAMILY[:REVISION]": definitions, "FAMILY:REVISION": definitions,
	"IMAGE|FAMILY[:REVISION]": images, "bash|zsh|fish": "bash zsh fish", "man|config": "man config", "context NAME": contexts, "NAME=VALUE": "servers= replace-after= lost-after=",
	"TASK:PATH": tasks, "PATH": file, "PORT|LOCAL:PORT": free, "DAEMON": daemons, "SERVICE": services, "SERVICE=N": services, "GPU": gpus, "GPU...": gpus, "secret NAME": secrets, "IMAGE": poolImages, "TARGET": free, "FILE|-": file, "key ID": keys, "role NAME": free, "certificate NAME": free, "VOLUME": free, "token ID": joinTokens, "GROUP": logins, "PRIORITY": free, "-": free, "save|restore|inspect": free, "|": free, "HOST[:PORT]]": free,
}

// flagKind is what the value of a flag stands for.
func (p parsed) flagKind(flag cli.Flag) kind {
	own, _ := findKind(flagKinds, p.path, flag.Names()[0])
	return own
}

// findKind finds the kind of a name in a command, whose own goes before that of its last words, and that before what all commands mean by it.
func findKind(kinds map[string]kind, path []string, name string) (found kind, known bool) {
	for from := range len(path) + 1 {
		if found, known = kinds[strings.TrimSpace(strings.Join(path[from:], " ")+" "+name)]; known {
			return found, true
		}
	}
	return free, false
}

// argumentKind is what the next argument of the command stands for.
func (p parsed) argumentKind() kind {
	own, _ := findKind(argumentKinds, p.path[:min(len(p.path), 1)], p.argumentWord())
	return own
}

// argumentWord is how the usage of the command names its next argument; empty when it takes no more.
func (p parsed) argumentWord() string {
	words := strings.Fields(p.command.ArgsUsage)
	if len(words) == 0 || len(p.arguments) >= len(words) && !strings.Contains(words[len(words)-1], "...") {
		return ""
	}
	word := strings.TrimPrefix(words[min(len(p.arguments), len(words)-1)], "[")
	if !strings.Contains(word, "[") { // brackets of its own stay
		word = strings.TrimSuffix(word, "]")
	}
	return strings.TrimSuffix(word, "...")
}

// Unknown are the options with a value and the arguments of a command that completion has no kind for.
func Unknown(command *cli.Command, path []string) (names []string) {
	for _, flag := range command.Flags {
		if _, known := findKind(flagKinds, path, flag.Names()[0]); !known && !isBool(flag) {
			names = append(names, "--"+flag.Names()[0])
		}
	}
	p := parsed{command: command, path: path}
	for range strings.Fields(command.ArgsUsage) {
		if word := p.argumentWord(); !command.Hidden && !(p.takesCommand() && len(p.arguments) > 0) {
			if _, known := findKind(argumentKinds, path[:1], word); !known {
				names = append(names, word)
			}
		}
		p.arguments = append(p.arguments, "")
	}
	return names
}
