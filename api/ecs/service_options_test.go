package ecs

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pinion/api/wire"
)

// option is a value of one option of a command, and what the answer has by it, or the refusal says: what the same command without it does not.
type option struct{ value, want string }

// serviceCommand is a command with what it needs at least, and its options.
type serviceCommand struct {
	least   string
	options map[string]option
}

// updatable are the options that CreateService and UpdateService have in common. What the model has and Pinion refuses is refused by its type.
var updatable = map[string]option{
	"taskDefinition":                {`"served:3"`, `task-definition/served:3"`},
	"desiredCount":                  {`3`, `"desiredCount":3`},
	"capacityProviderStrategy":      {`[{"capacityProvider":"PINION","weight":7}]`, `"weight":7`},
	"deploymentConfiguration":       {`{"maximumPercent":150}`, `"maximumPercent":150`},
	"availabilityZoneRebalancing":   {`"DISABLED"`, `"availabilityZoneRebalancing":"DISABLED"`},
	"networkConfiguration":          {`{"awsvpcConfiguration":{"subnets":["s"]}}`, `Network Configuration`},
	"placementConstraints":          {`[{"type":"distinctInstance"}]`, `"distinctInstance"`},
	"placementStrategy":             {`[{"type":"spread","field":"attribute:ecs.availability-zone"},{"type":"binpack","field":"cpu"}]`, `"binpack"`},
	"platformVersion":               {`"1.4.0"`, `platformVersion "1.4.0" is not supported`},
	"healthCheckGracePeriodSeconds": {`7`, `"healthCheckGracePeriodSeconds":7`},
	"deploymentController":          {`{"type":"CODE_DEPLOY"}`, `CODE_DEPLOY is not supported`},
	"enableExecuteCommand":          {`true`, `"enableExecuteCommand":true`},
	"enableECSManagedTags":          {`true`, `"enableECSManagedTags":true`},
	"loadBalancers":                 {`[{"targetGroupArn":"` + groupARN + `open/open","containerName":"main","containerPort":80}]`, `targetgroup/open`},
	"propagateTags":                 {`"SERVICE"`, `"propagateTags":"SERVICE"`},
	"serviceConnectConfiguration":   {`{"enabled":true,"services":[{"portName":"http"}]}`, `"portName":"http"`},
}

var serviceCommands = map[string]serviceCommand{
	"CreateService": {`{"serviceName":"new","taskDefinition":"served:2","desiredCount":1}`, map[string]option{
		"cluster":            {`"lab"`, `cluster/lab"`},
		"serviceName":        {`"other"`, `"serviceName":"other"`},
		"clientToken":        {`"a b"`, `clientToken`},
		"launchType":         {`"EXTERNAL"`, `"launchType":"EXTERNAL"`},
		"role":               {`"r"`, `"roleArn":"r"`},
		"schedulingStrategy": {`"DAEMON"`, `daemon scheduling strategy`},
		"tags":               {`[{"key":"floor","value":"2"}]`, `{"key":"floor","value":"2"}`},
	}},
	"UpdateService": {`{"service":"web"}`, map[string]option{
		"cluster":            {`"lab"`, `Service not found`},
		"service":            {`"nothing"`, `Service not found`},
		"forceNewDeployment": {`true`, `"status":"ACTIVE","taskDefinition"`}, // the deployment that it replaces
	}},
	"DeleteService": {`{"service":"web"}`, map[string]option{
		"cluster": {`"lab"`, `Service not found`},
		"service": {`"nothing"`, `Service not found`},
		"force":   {`true`, `"status":"DRAINING"`},
	}},
	"DescribeServices": {`{"services":["web"]}`, map[string]option{
		"cluster":  {`"lab"`, `MISSING`},
		"services": {`["nothing"]`, `MISSING`},
		"include":  {`["TAGS"]`, `{"key":"row","value":"1"}`},
	}},
	"ListServices": {`{}`, map[string]option{
		"cluster":                {`"lab"`, `[]`},
		"launchType":             {`"EXTERNAL"`, `[]`},
		"schedulingStrategy":     {`"DAEMON"`, `[]`},
		"resourceManagementType": {`"ECS"`, `[]`},
		"maxResults":             {`1`, `nextToken`},
		"nextToken":              {`"none"`, `oken`},
	}},
	"ListServicesByNamespace": {`{"namespace":"default"}`, map[string]option{
		"namespace":  {`"nothing"`, `The namespace nothing was not found`},
		"maxResults": {`101`, `maxResults`},
		"nextToken":  {`"none"`, `oken`},
	}},
	"CreateTaskSet": {`{"cluster":"default","service":"blue","taskDefinition":"served:2"}`, map[string]option{
		"cluster":                  {`"lab"`, `Service not found`},
		"service":                  {`"nothing"`, `Service not found`},
		"taskDefinition":           updatable["taskDefinition"],
		"externalId":               {`"x"`, `"externalId":"x"`},
		"networkConfiguration":     updatable["networkConfiguration"],
		"loadBalancers":            updatable["loadBalancers"],
		"launchType":               {`"EXTERNAL"`, `"launchType":"EXTERNAL"`},
		"capacityProviderStrategy": updatable["capacityProviderStrategy"],
		"platformVersion":          updatable["platformVersion"],
		"scale":                    {`{"value":50,"unit":"PERCENT"}`, `"value":50`},
		"clientToken":              {`"a b"`, `clientToken`},
		"tags":                     {`[{"key":"floor","value":"2"}]`, `{"key":"floor","value":"2"}`},
	}},
	"UpdateTaskSet": {`{"cluster":"default","service":"blue","taskSet":"$set","scale":{"value":30,"unit":"PERCENT"}}`, map[string]option{
		"cluster": {`"lab"`, `Service not found`},
		"service": {`"nothing"`, `Service not found`},
		"taskSet": {`"ecs-svc/1"`, `TaskSet not found`},
		"scale":   {`{"value":50,"unit":"PERCENT"}`, `"value":50`},
	}},
	"UpdateTaskProtection": {`{"cluster":"default","tasks":["$task"],"protectionEnabled":false}`, map[string]option{
		"cluster":           {`"lab"`, `MISSING`},
		"tasks":             {`["0123456789abcdef0123456789abcdef"]`, `MISSING`},
		"protectionEnabled": {`true`, `"protectionEnabled":true`},
		"expiresInMinutes":  {`3000`, `expiresInMinutes`},
	}},
	"ListServiceDeployments": {`{"service":"web"}`, map[string]option{
		"cluster":    {`"lab"`, `Service not found`},
		"service":    {`"nothing"`, `Service not found`},
		"status":     {`["STOPPED"]`, `[]`},
		"createdAt":  {`{"before":1}`, `[]`},
		"maxResults": {`101`, `maxResults`},
		"nextToken":  {`"none"`, `oken`},
	}},
}

// Every option of the commands about services does what it says, or is refused by its name: none is dropped.
func TestEveryOptionOfTheServiceCommandsCounts(t *testing.T) {
	for command, c := range serviceCommands {
		without := answerWith(t, command, c.least, "", "")
		for name, of := range membersOf(Operations[command].Input) {
			o, known := c.options[name]
			if !known && strings.HasSuffix(command, "teService") {
				o, known = updatable[name]
			}
			if of == reflect.TypeFor[wire.Unsupported]() {
				o, known = option{`[{"a":"b"}]`, name + " is not supported"}, true
			}
			if !known {
				t.Errorf("%s: nobody tries %s: give it a line", command, name)
				continue
			}
			if with := answerWith(t, command, c.least, name, o.value); strings.Contains(without, o.want) || !strings.Contains(with, o.want) {
				t.Errorf("%s %s=%s: %q is in the answer without it, or not in that with it:\n%s\n%s", command, name, o.value, o.want, without, with)
			}
		}
	}
}

// answerWith is what a pool with the services web, second and blue answers, or refuses with, to a command with one more option.
func answerWith(t *testing.T, command, least, name, value string) string {
	t.Helper()
	f := balanced(t)
	f.must(t, "CreateCluster", `{"clusterName":"lab"}`)
	for range 2 {
		f.must(t, "RegisterTaskDefinition", `{"family":"served","containerDefinitions":[{"name":"main","image":"web","memory":64,"portMappings":[{"containerPort":80,"name":"http","appProtocol":"http"}]}]}`)
	}
	f.must(t, "CreateService", `{"serviceName":"web","taskDefinition":"served:2","desiredCount":1,"tags":[{"key":"row","value":"1"}]}`)
	f.must(t, "CreateService", `{"serviceName":"blue","deploymentController":{"type":"EXTERNAL"},"desiredCount":2}`)
	names := strings.NewReplacer("$task", f.addTask(t, "1"), "$set", f.set(t, "CreateTaskSet", `{"cluster":"default","service":"blue","taskDefinition":"served:2"}`).TaskSetARN)
	f.must(t, "CreateService", `{"serviceName":"second","taskDefinition":"served:2","desiredCount":0}`)
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(least), &members); err != nil {
		t.Fatal(err)
	}
	if name != "" {
		members[name] = json.RawMessage(value)
	}
	body, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	got := f.call(command, names.Replace(string(body)))
	if got.err != nil {
		return got.err.Error()
	}
	return got.Body.String()
}

// membersOf are the members of an input by their names, those that are embedded included.
func membersOf(input reflect.Type) map[string]reflect.Type {
	for input.Kind() == reflect.Pointer {
		input = input.Elem()
	}
	all := map[string]reflect.Type{}
	for field := range input.Fields() {
		if field.Anonymous {
			for name, of := range membersOf(field.Type) {
				all[name] = of
			}
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		all[name] = field.Type
	}
	return all
}
