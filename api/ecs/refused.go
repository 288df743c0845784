package ecs

import "pinion/api/wire"

// refusal is how an operation that is not built answers: with an error that its model knows.
type refusal struct{ kind, why string }

// unsupportedFeature is the type of a refusal where the operation's model has it; ClientException elsewhere.
const unsupportedFeature = "UnsupportedFeatureException"

// Why operations are refused.
const (
	services = "services are not built yet; run tasks with RunTask"
	exec     = "running a command inside a task is not built yet"
	protocol = "hosts speak Pinion's own protocol with the cluster, not that of the Amazon ECS agent"
	gateways = "gateways are a service of AWS; there is none here"
	daemons  = "daemons are not built yet; run a task on each host with StartTask"
)

// refusals are the operations of ECS that Pinion knows by name and does not do.
var refusals = map[string]refusal{
	"ContinueServiceDeployment":      {unsupportedFeature, services},
	"CreateService":                  {unsupportedFeature, services},
	"CreateTaskSet":                  {unsupportedFeature, services},
	"DeleteService":                  {wire.Client, services},
	"DeleteTaskSet":                  {unsupportedFeature, services},
	"DescribeServiceRevisions":       {unsupportedFeature, services},
	"DescribeTaskSets":               {unsupportedFeature, services},
	"GetTaskProtection":              {unsupportedFeature, services},
	"StopServiceDeployment":          {unsupportedFeature, services},
	"UpdateService":                  {unsupportedFeature, services},
	"UpdateServicePrimaryTaskSet":    {unsupportedFeature, services},
	"UpdateTaskProtection":           {unsupportedFeature, services},
	"UpdateTaskSet":                  {unsupportedFeature, services},
	"ExecuteCommand":                 {wire.Client, exec},
	"DiscoverPollEndpoint":           {wire.Client, protocol},
	"SubmitAttachmentStateChanges":   {wire.Client, protocol},
	"SubmitContainerStateChange":     {wire.Client, protocol},
	"SubmitTaskStateChange":          {wire.Client, protocol},
	"AssociateGatewayWithCluster":    {wire.Client, gateways},
	"CreateExpressGatewayService":    {unsupportedFeature, gateways},
	"CreateGateway":                  {wire.Client, gateways},
	"DeleteExpressGatewayService":    {unsupportedFeature, gateways},
	"DeleteGateway":                  {wire.Client, gateways},
	"DescribeExpressGatewayService":  {unsupportedFeature, gateways},
	"DescribeGateway":                {wire.Client, gateways},
	"DescribeGatewayResources":       {wire.Client, gateways},
	"DescribeGatewayRoute":           {wire.Client, gateways},
	"DisassociateGatewayFromCluster": {wire.Client, gateways},
	"ListGatewayClusterAssociations": {wire.Client, gateways},
	"ListGatewayRoutes":              {wire.Client, gateways},
	"ListGateways":                   {wire.Client, gateways},
	"UpdateExpressGatewayService":    {unsupportedFeature, gateways},
	"UpdateGateway":                  {wire.Client, gateways},
	"CreateDaemon":                   {unsupportedFeature, daemons},
	"DeleteDaemon":                   {unsupportedFeature, daemons},
	"DeleteDaemonTaskDefinition":     {wire.Client, daemons},
	"DescribeDaemon":                 {unsupportedFeature, daemons},
	"DescribeDaemonDeployments":      {unsupportedFeature, daemons},
	"DescribeDaemonRevisions":        {unsupportedFeature, daemons},
	"DescribeDaemonTaskDefinition":   {wire.Client, daemons},
	"ListDaemonDeployments":          {unsupportedFeature, daemons},
	"ListDaemonTaskDefinitions":      {wire.Client, daemons},
	"ListDaemons":                    {unsupportedFeature, daemons},
	"RegisterDaemonTaskDefinition":   {wire.Client, daemons},
	"UpdateDaemon":                   {unsupportedFeature, daemons},
}
