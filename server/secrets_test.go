package server

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/logdriver"
	"pinion/raftfsm/secret"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/valuefrom"
	"pinion/server/admission"
)

// secretText is what a pool keeps sealed.
const secretText = "correct-horse-battery-staple"

// keep has the pool keep a secret for tasks of the clusters.
func (p *pool) keep(name, value string, clusters ...string) {
	p.t.Helper()
	member := p.leader().member
	s := &secret.Secret{Store: valuefrom.SecretsManager, Name: name, Suffix: "AbCdEf", Clusters: spec.NewClusterSet(clusters)}
	v := secret.Version{ID: "one", Stages: []string{secret.Current}}
	if err := member.Secrets.Seal(p.t.Context(), s, &v, value); err != nil {
		p.t.Fatal(err)
	}
	s.Versions = []secret.Version{v}
	apply(p.t, member.localServer(), raftfsm.Wrap(secret.Create{Secret: *s}))
}

// runWith starts a task with secrets on a host.
func (p *pool) runWith(on *testHost, secrets ...valuefrom.Secret) *spec.Task {
	p.t.Helper()
	return p.runContainer(on, spec.ContainerDefinition{Secrets: secrets})
}

// runContainer starts a task on a host.
func (p *pool) runContainer(on *testHost, c spec.ContainerDefinition) *spec.Task {
	p.t.Helper()
	c.Name, c.Image, c.CPU, c.Memory = "main", "pinion/self", 1, 1
	eventually(p.t, "the host is connected", func() bool { return p.leader().member.Connected(on.cfg.HostID) && p.view().Host(on.cfg.HostID) != nil })
	leader := p.leader().member.localServer()
	definition := spec.TaskDefinition{Family: "secretive", Status: spec.DefinitionActive, Containers: []spec.ContainerDefinition{c}}
	request := runOf(apply(p.t, leader, raftfsm.RegisterDefinition{Definition: definition}).(*spec.TaskDefinition).Name())
	request.Hosts = []string{on.cfg.HostID}
	result, err := leader.scheduler.Run(p.t.Context(), request)
	if err != nil || len(result.Tasks) != 1 {
		p.t.Fatal(result.Failures, err)
	}
	return result.Tasks[0]
}

func TestAHostGetsTheSecretsOfItsOwnTasks(t *testing.T) {
	p := newPool(t)
	var mu sync.Mutex
	var given []admission.Retrieval
	noteGiven := func(c *MemberConfig) {
		c.SecretsGiven = func(g admission.Retrieval) {
			mu.Lock()
			defer mu.Unlock()
			given = append(given, g)
		}
	}
	p.found(noteGiven)
	p.join(3) // one of the four is an agent
	p.waitForVoters(3)
	p.keep("db", `{"password":"`+secretText+`"}`)
	for _, host := range p.hosts {
		task := p.runWith(host, valuefrom.Secret{Name: "PASSWORD", ValueFrom: "arn:aws:secretsmanager:r:1:secret:db:password::"}, valuefrom.Secret{Name: "OTHER", ValueFrom: "pinion:command:vault:x"})
		values, err := host.member.TaskSecrets.Secrets(t.Context(), task.ID, []string{"main"})
		if err != nil || len(values) != 1 || values[0].Name != "PASSWORD" || string(values[0].Value) != secretText {
			t.Errorf("host %d: %v, %v", host.n, values, err)
		}
		for _, other := range p.hosts {
			if other == host {
				continue
			}
			if values, err := other.member.TaskSecrets.Secrets(t.Context(), task.ID, []string{"main"}); !errors.Is(err, valuefrom.ErrUnresolved) || len(values) != 0 {
				t.Errorf("host %d gets those of a task of host %d: %v, %v", other.n, host.n, values, err)
			}
		}
		apply(t, p.leader().member.localServer(), raftfsm.StopTask{ID: task.ID, Code: spec.StopUserInitiated})
		if values, err := host.member.TaskSecrets.Secrets(t.Context(), task.ID, []string{"main"}); !errors.Is(err, valuefrom.ErrUnresolved) {
			t.Errorf("host %d gets those of a task that is to stop: %v, %v", host.n, values, err)
		}
	}
	mu.Lock()
	if len(given) == 0 || given[0].Secrets[0] != "secret db" { // the first host told of those that it gave while it led
		t.Errorf("what was told: %+v", given)
	}
	mu.Unlock()

	task := p.runWith(p.hosts[3], valuefrom.Secret{Name: "A", ValueFrom: "db"})
	p.rotateSealingKey()
	p.waitUntilSealed()
	if values, err := p.hosts[3].member.TaskSecrets.Secrets(t.Context(), task.ID, []string{"main"}); err != nil || len(values) != 1 || !strings.Contains(string(values[0].Value), secretText) {
		t.Errorf("after the sealing key was replaced: %v, %v", values, err)
	}
	var state bytes.Buffer
	if err := p.view().WriteSnapshot(&state); err != nil || bytes.Contains(state.Bytes(), []byte(secretText)) {
		t.Errorf("a snapshot holds it in clear: %v", err)
	}
}

func TestASecretThatATaskCannotHaveIsNamed(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	p.keep("db", "hunter2")
	p.keep("lab", "hunter2", "lab")
	for valueFrom, says := range map[string]string{
		"nothing": "nothing", "arn:aws:ssm:r:1:parameter/db": "parameter db", "lab": "for cluster default",
		"arn:aws:secretsmanager:r:1:secret:db:key::": "no JSON object", "arn:aws:secretsmanager:r:1:secret:db:::two": "version two",
	} {
		task := p.runWith(p.hosts[0], valuefrom.Secret{Name: "PASSWORD", ValueFrom: valueFrom})
		_, err := p.hosts[0].member.TaskSecrets.Secrets(t.Context(), task.ID, []string{"main"})
		if !errors.Is(err, valuefrom.ErrUnresolved) || !strings.Contains(err.Error(), "PASSWORD of container main") || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", valueFrom, err)
		}
	}
}

// The credentials of the registry of a container go the way of its secrets: to the host of its task alone, and apart from them.
func TestAHostGetsTheRegistryCredentialsOfItsOwnTasks(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	p.join(1)
	p.keep("hub", `{"username":"me","password":"`+secretText+`"}`)
	p.keep("db", "hunter2")
	task := p.runContainer(p.hosts[0], spec.ContainerDefinition{
		Secrets: []valuefrom.Secret{{Name: "DB", ValueFrom: "db"}}, RepositoryCredentials: &valuefrom.RepositoryCredentials{CredentialsParameter: "arn:aws:secretsmanager:r:1:secret:hub"},
	})
	kept := p.hosts[0].member.TaskSecrets
	if values, err := kept.RegistryLogins(t.Context(), task.ID, []string{"main"}); err != nil || len(values) != 1 || values[0].Name != "" || !strings.Contains(string(values[0].Value), secretText) {
		t.Errorf("%v, %v", values, err)
	}
	if values, err := kept.Secrets(t.Context(), task.ID, []string{"main"}); err != nil || len(values) != 1 || values[0].Name != "DB" {
		t.Errorf("its secrets: %v, %v", values, err)
	}
	if values, err := p.hosts[1].member.TaskSecrets.RegistryLogins(t.Context(), task.ID, []string{"main"}); !errors.Is(err, valuefrom.ErrUnresolved) || len(values) != 0 {
		t.Errorf("another host gets them: %v, %v", values, err)
	}
	task = p.runContainer(p.hosts[0], spec.ContainerDefinition{RepositoryCredentials: &valuefrom.RepositoryCredentials{CredentialsParameter: "nothing"}})
	if _, err := kept.RegistryLogins(t.Context(), task.ID, []string{"main"}); !errors.Is(err, valuefrom.ErrUnresolved) || !strings.Contains(err.Error(), "repositoryCredentials of container main") || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("a secret that is missing: %v", err)
	}
}

// The secrets of log drivers go the way of those of containers, apart from them, and to a host whose task has stopped, too: the end of its log may be left to send.
func TestAHostGetsTheLogOptionsOfItsOwnTasks(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	p.join(1)
	p.keep("hec", secretText)
	log := logdriver.Configuration{LogDriver: logdriver.JSONFile, SecretOptions: []valuefrom.Secret{{Name: "splunk-token", ValueFrom: "hec"}}}
	task := p.runContainer(p.hosts[1], spec.ContainerDefinition{LogConfiguration: &log}) // the hosts of this test send no logs, so it is a driver that sends none
	own, other := p.hosts[1].member.TaskSecrets, p.hosts[0].member.TaskSecrets
	if values, err := own.Secrets(t.Context(), task.ID, []string{"main"}); err != nil || len(values) != 0 {
		t.Errorf("they are among its secrets: %v, %v", values, err)
	}
	for _, moment := range []string{"while it runs", "when it is to stop"} {
		if values, err := own.LogOptions(t.Context(), task.ID, []string{"main"}); err != nil || len(values) != 1 || values[0].Name != "splunk-token" || string(values[0].Value) != secretText {
			t.Errorf("%s: %v, %v", moment, values, err)
		}
		if values, err := other.LogOptions(t.Context(), task.ID, []string{"main"}); !errors.Is(err, valuefrom.ErrUnresolved) || len(values) != 0 {
			t.Errorf("%s another host gets them: %v, %v", moment, values, err)
		}
		apply(t, p.leader().member.localServer(), raftfsm.StopTask{ID: task.ID, Code: spec.StopUserInitiated})
	}
	if _, err := own.LogOptions(t.Context(), "unknown", []string{"main"}); !errors.Is(err, valuefrom.ErrUnresolved) {
		t.Errorf("of a task that nobody knows: %v", err)
	}
}

// Every server opens what a leader has sealed, also when that leader has a sealing key that it has told nobody of, as a rotation that failed leaves one.
func TestSecretsAreReadableForTheNextLeader(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	p.join(2)
	p.waitForVoters(3)
	before := p.leader()
	if _, err := before.member.localServer().accessKeys.Keyring.Generate(); err != nil {
		t.Fatal(err)
	}
	p.keep("db", secretText)
	wantFrom := func(why string) {
		t.Helper()
		leader := p.leader()
		task := p.runWith(leader, valuefrom.Secret{Name: "A", ValueFrom: "db"})
		if values, err := leader.member.TaskSecrets.Secrets(t.Context(), task.ID, []string{"main"}); err != nil || len(values) != 1 || string(values[0].Value) != secretText {
			t.Errorf("%s: %v, %v", why, values, err)
		}
	}
	wantFrom("the one that has sealed it")
	p.rotateSealingKey()
	before.close()
	eventually(t, "another leads", func() bool { return p.leader() != before })
	wantFrom("the next one")
	p.start(before)
	p.waitUntilSealed()
	wantFrom("after all is sealed anew")
}

// A task is not kept waiting for a value that nobody can open: its key is on no server. One that has the key and is away may come back.
func TestASecretThatNoServerCanOpenIsNamed(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	p.join(2)
	p.waitForVoters(3)
	p.keep("db", secretText)
	lose := func(key string) {
		t.Helper()
		for _, h := range p.hosts {
			if h.member == nil {
				continue
			}
			if own := h.member.localServer(); own != nil {
				if err := own.accessKeys.Keyring.Remove(key); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	key := p.leader().member.localServer().accessKeys.Keyring.Names()[0]
	away := p.hosts[slices.IndexFunc(p.hosts, func(h *testHost) bool { return h != p.leader() })]
	ask := func() ([]valuefrom.Value, error) {
		leader := p.leader()
		task := p.runWith(leader, valuefrom.Secret{Name: "A", ValueFrom: "db"})
		return leader.member.TaskSecrets.Secrets(t.Context(), task.ID, []string{"main"})
	}
	away.close()
	lose(key)
	for range 3 {
		if _, err := ask(); err == nil || errors.Is(err, valuefrom.ErrUnresolved) {
			t.Fatalf("while a server is away that may have the key: %v", err)
		}
	}
	p.start(away)
	eventually(t, "its key", func() bool { values, err := ask(); return err == nil && string(values[0].Value) == secretText })
	lose(key)
	eventually(t, "the end", func() bool {
		_, err := ask()
		return errors.Is(err, valuefrom.ErrUnresolved) && strings.Contains(err.Error(), "secret A of container main") && strings.Contains(err.Error(), "secret db")
	})
}
