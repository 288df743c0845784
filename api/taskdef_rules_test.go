package api

import "testing"

// inMode adds a field to a document.
func inMode(mode, body string) string { return `{` + mode + `,` + body[1:] }

func TestRulesOfTaskDefinitions(t *testing.T) {
	const (
		after  = `"dependsOn":[{"containerName":"a","condition":"START"}]`
		shell  = `Container 'c': healthCheck.command must begin with CMD or CMD-SHELL, such as ["CMD-SHELL", "curl -f http://localhost/ || exit 1"].`
		health = `"healthCheck":{"command":["CMD","true"],`
	)
	for _, c := range []struct{ name, body, message string }{
		{"a health check without a command", container(`"healthCheck":{}`), shell},
		{"a health check that does not say how to run it", container(`"healthCheck":{"command":["curl","localhost"]}`), shell},
		{"no health check, spelt out", container(`"healthCheck":{"command":["NONE"]}`), shell},
		{"a health check of nothing", container(`"healthCheck":{"command":["CMD-SHELL"]}`), "Container 'c': healthCheck.command says CMD-SHELL and no command."},
		{"words for the shell", container(`"healthCheck":{"command":["CMD-SHELL","curl","localhost"]}`), "Container 'c': healthCheck.command must have one line after CMD-SHELL, not 2. Use CMD for the words of a command."},
		{"checks too often", container(health + `"interval":4}`), "Container 'c': healthCheck.interval must be 5 to 300, not 4."},
		{"checks too short", container(health + `"timeout":1}`), "Container 'c': healthCheck.timeout must be 2 to 60, not 1."},
		{"checks that never fail", container(health + `"retries":11}`), "Container 'c': healthCheck.retries must be 1 to 10, not 11."},
		{"checks that start late", container(health + `"startPeriod":301}`), "Container 'c': healthCheck.startPeriod must be 0 to 300, not 301."},
		{"a restart policy that does not say", container(`"restartPolicy":{}`), "Container 'c': restartPolicy.enabled is missing."},
		{"restarts too soon", container(`"restartPolicy":{"enabled":true,"restartAttemptPeriod":59}`), "Container 'c': restartPolicy.restartAttemptPeriod must be 60 to 1800, not 59."},
		{"too little time to start", container(`"startTimeout":1`), "Container 'c': startTimeout must be 2 to 86400, not 1."},
		{"too much time to stop", container(`"stopTimeout":86401`), "Container 'c': stopTimeout must be 0 to 86400, not 86401."},

		{"waiting for nobody", two(``+`"cpu":1`, `"dependsOn":[{"containerName":"x","condition":"START"}]`), "Container 'b': dependsOn must name another container of the task definition, not 'x'."},
		{"waiting for itself", two(after, `"cpu":1`), "Container 'a': dependsOn must name another container of the task definition, not 'a'."},
		{"waiting for what never is", two(`"cpu":1`, `"dependsOn":[{"containerName":"a","condition":"READY"}]`), `Container 'b': dependsOn.condition must be one of START, COMPLETE, SUCCESS, HEALTHY, not "READY".`},
		{"waiting twice", two(`"cpu":1`, `"dependsOn":[{"containerName":"a","condition":"START"},{"containerName":"a","condition":"COMPLETE"}]`), "Container 'b': dependsOn names container 'a' twice."},
		{"waiting for health that nobody checks", two(`"cpu":1`, `"dependsOn":[{"containerName":"a","condition":"HEALTHY"}]`), "Container 'b': dependsOn waits for container 'a' to be HEALTHY, which has no healthCheck."},
		{"waiting for the end of the task", two(`"dependsOn":[{"containerName":"b","condition":"SUCCESS"}]`, `"cpu":1`), "Container 'a': dependsOn waits for the end (SUCCESS) of container 'b', which is essential: its end is the end of the task. Set essential to false there."},
		{"waiting for one another", two(`"dependsOn":[{"containerName":"b","condition":"START"}]`, after), "Container 'a': dependsOn goes round in a circle, so none of the containers in it could ever start."},
		{"volumes of nobody", two(`"cpu":1`, `"volumesFrom":[{"sourceContainer":"x"}]`), "Container 'b': volumesFrom must name another container of the task definition, not 'x'."},
		{"two things in one place", inMode(`"volumes":[{"name":"v"},{"name":"w"}]`, container(`"mountPoints":[{"sourceVolume":"v","containerPath":"/d"},{"sourceVolume":"w","containerPath":"/d/"}]`)), "Container 'c': something is mounted at /d/ already: mountPoints must have different containerPaths."},

		{"a host name that is none", container(`"hostname":"a b"`), `Container 'c': hostname "a b" must be a host name of at most 64 characters.`},
		{"a host without an address", container(`"extraHosts":[{"hostname":"db"}]`), `Container 'c': extraHosts must have a hostname and an ipAddress, not "db" and "".`},
		{"a line break in a host", container(`"extraHosts":[{"hostname":"db\n1.1.1.1 x","ipAddress":"1.1.1.1"}]`), `Container 'c': extraHosts must have a hostname and an ipAddress, not "db\n1.1.1.1 x" and "1.1.1.1".`},
		{"a name server by name", container(`"dnsServers":["dns.example"]`), `Container 'c': dnsServers must hold IP addresses, not "dns.example".`},
		{"a search domain that is none", container(`"dnsSearchDomains":["a b"]`), `Container 'c': dnsSearchDomains must hold domain names, not "a b".`},
		{"a parameter of the whole kernel", container(`"systemControls":[{"namespace":"vm.swappiness","value":"1"}]`), `Container 'c': systemControls.namespace must be net.*, fs.mqueue.* or one of kernel.msgmax, kernel.msgmnb, kernel.msgmni, kernel.sem, kernel.shmall, kernel.shmmax, kernel.shmmni, kernel.shm_rmid_forced, not "vm.swappiness".`},
		{"a parameter of the host's network", inMode(`"networkMode":"host"`, container(`"systemControls":[{"namespace":"net.core.somaxconn","value":"1"}]`)), "Container 'c': systemControls net.core.somaxconn is not allowed with networkMode host: it would change the host."},
		{"a parameter of the host's messages", inMode(`"ipcMode":"host"`, container(`"systemControls":[{"namespace":"kernel.sem","value":"1"}]`)), "Container 'c': systemControls kernel.sem is not allowed with ipcMode host: it would change the host."},
		{"a parameter without a value", container(`"systemControls":[{"namespace":"net.core.somaxconn"}]`), `Container 'c': systemControls "net.core.somaxconn" needs a value.`},
		{"images that are resolved", container(`"versionConsistency":"enabled"`), "Container 'c': versionConsistency enabled is not supported by Pinion yet: name the image by its digest, or set it to disabled."},
		{"a log of no size", container(`"logConfiguration":{"logDriver":"json-file","options":{"max-size":"big"}}`), `Container 'c': logConfiguration.options max-size must be a size such as 500k, 10m or 1g, not "big".`},
		{"a log of no files", container(`"logConfiguration":{"logDriver":"json-file","options":{"max-file":"0"}}`), `Container 'c': logConfiguration.options max-file must be a number of files from 1, not "0".`},
		{"a port with a bad name", container(`"portMappings":[{"containerPort":80,"name":"Web"}]`), `Container 'c': portMappings.name must be 1 to 64 lower-case letters, digits, hyphens and underscores, not "Web".`},
		{"two ports of one name", container(`"portMappings":[{"containerPort":80,"name":"web"},{"containerPort":81,"name":"web"}]`), "Container 'c': the name web of a port is there twice in this task definition."},
		{"a port of an unknown protocol", container(`"portMappings":[{"containerPort":80,"appProtocol":"smtp"}]`), `Container 'c': portMappings.appProtocol must be http, http2 or grpc, not "smtp".`},
		{"a memory file system with an unknown option", container(`"linuxParameters":{"tmpfs":[{"containerPath":"/t","size":1,"mountOptions":["fast"]}]}`), `Container 'c': linuxParameters.tmpfs.mountOptions: "fast" is not one that ECS knows, such as ro, noexec or mode=1777.`},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newFixture(t)
			b.aws("RegisterTaskDefinition", c.body).wantError(t, 400, "ClientException", c.message)
			if left := b.state.View().Definitions(""); len(left) != 0 {
				t.Errorf("%d definitions were stored", len(left))
			}
		})
	}
}

// What a definition requires of hosts follows from its fields.
func TestRequiredAttributes(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{container(`"cpu":1`), ""},
		{container(`"logConfiguration":{"logDriver":"awslogs","options":{}}`), "com.amazonaws.ecs.capability.logging-driver.awslogs"},
		{container(`"privileged":true`), "com.amazonaws.ecs.capability.privileged-container"},
		{container(`"healthCheck":{"command":["CMD","true"]}`), "ecs.capability.container-health-check"},
		{container(`"restartPolicy":{"enabled":true}`), "ecs.capability.container-restart-policy"},
		{container(`"dnsServers":["1.1.1.1"]`), "pinion.capability.container-options"},
		{two(`"cpu":1`, `"dependsOn":[{"containerName":"a","condition":"START"}]`), "ecs.capability.task-cpu-mem-limit ecs.capability.container-ordering"},
		{taskWith(`"pidMode":"host"`), "ecs.capability.pid-ipc-namespace-sharing"},
		{gpuRequirement(`"sharingStrategy":{"nvidiaMps":{"memory":1024}}`), "pinion.capability.gpu-sharing.nvidia-mps"},
		{gpuRequirement(`"value":"ALL"`), ""},
	} {
		var answer struct {
			TaskDefinition struct{ RequiresAttributes []struct{ Name string } }
		}
		newFixture(t).must(t, "RegisterTaskDefinition", c.body).decode(t, &answer)
		got := ""
		for _, a := range answer.TaskDefinition.RequiresAttributes {
			if got != "" {
				got += " "
			}
			got += a.Name
		}
		if got != c.want {
			t.Errorf("%s requires %q, want %q", c.body, got, c.want)
		}
	}
}
