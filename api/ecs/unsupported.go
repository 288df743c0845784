package ecs

import "pinion/api/wire"

// unsupportedOperation is how an operation that is not built answers: with an error that its model knows.
type unsupportedOperation struct{ errorType, reason string }

// unsupportedFeature is the type of a refusal where the operation's model has it; ClientException elsewhere.
const unsupportedFeature = "UnsupportedFeatureException"

// Why operations are refused.
const (
	reasonServices      = "services are not built yet; run tasks with RunTask"
	reasonExec          = "running a command inside a task is not built yet"
	reasonAgentProtocol = "hosts speak Pinion's own protocol with the cluster, not that of the Amazon ECS agent"
	reasonGateways      = "gateways are a service of AWS; there is none here"
	reasonDaemons       = "daemons are not built yet; run a task on each host with StartTask"
)

// unsupportedOperations are the operations of ECS that Pinion knows by name and does not do.
var unsupportedOperations = map[string]unsupportedOperation{
	"ContinueServiceDeployment":      {unsupportedFeature, reasonServices},
	"CreateService":                  {unsupportedFeature, reasonServices},
	"CreateTaskSet":                  {unsupportedFeature, reasonServices},
	"DeleteService":                  {wire.Client, reasonServices},
	"DeleteTaskSet":                  {unsupportedFeature, reasonServices},
	"DescribeServiceRevisions":       {unsupportedFeature, reasonServices},
	"DescribeTaskSets":               {unsupportedFeature, reasonServices},
	"GetTaskProtection":              {unsupportedFeature, reasonServices},
	"StopServiceDeployment":          {unsupportedFeature, reasonServices},
	"UpdateService":                  {unsupportedFeature, reasonServices},
	"UpdateServicePrimaryTaskSet":    {unsupportedFeature, reasonServices},
	"UpdateTaskProtection":           {unsupportedFeature, reasonServices},
	"UpdateTaskSet":                  {unsupportedFeature, reasonServices},
	"ExecuteCommand":                 {wire.Client, reasonExec},
	"DiscoverPollEndpoint":           {wire.Client, reasonAgentProtocol},
	"SubmitAttachmentStateChanges":   {wire.Client, reasonAgentProtocol},
	"SubmitContainerStateChange":     {wire.Client, reasonAgentProtocol},
	"SubmitTaskStateChange":          {wire.Client, reasonAgentProtocol},
	"AssociateGatewayWithCluster":    {wire.Client, reasonGateways},
	"CreateExpressGatewayService":    {unsupportedFeature, reasonGateways},
	"CreateGateway":                  {wire.Client, reasonGateways},
	"DeleteExpressGatewayService":    {unsupportedFeature, reasonGateways},
	"DeleteGateway":                  {wire.Client, reasonGateways},
	"DescribeExpressGatewayService":  {unsupportedFeature, reasonGateways},
	"DescribeGateway":                {wire.Client, reasonGateways},
	"DescribeGatewayResources":       {wire.Client, reasonGateways},
	"DescribeGatewayRoute":           {wire.Client, reasonGateways},
	"DisassociateGatewayFromCluster": {wire.Client, reasonGateways},
	"ListGatewayClusterAssociations": {wire.Client, reasonGateways},
	"ListGatewayRoutes":              {wire.Client, reasonGateways},
	"ListGateways":                   {wire.Client, reasonGateways},
	"UpdateExpressGatewayService":    {unsupportedFeature, reasonGateways},
	"UpdateGateway":                  {wire.Client, reasonGateways},
	"CreateDaemon":                   {unsupportedFeature, reasonDaemons},
	"DeleteDaemon":                   {unsupportedFeature, reasonDaemons},
	"DeleteDaemonTaskDefinition":     {wire.Client, reasonDaemons},
	"DescribeDaemon":                 {unsupportedFeature, reasonDaemons},
	"DescribeDaemonDeployments":      {unsupportedFeature, reasonDaemons},
	"DescribeDaemonRevisions":        {unsupportedFeature, reasonDaemons},
	"DescribeDaemonTaskDefinition":   {wire.Client, reasonDaemons},
	"ListDaemonDeployments":          {unsupportedFeature, reasonDaemons},
	"ListDaemonTaskDefinitions":      {wire.Client, reasonDaemons},
	"ListDaemons":                    {unsupportedFeature, reasonDaemons},
	"RegisterDaemonTaskDefinition":   {wire.Client, reasonDaemons},
	"UpdateDaemon":                   {unsupportedFeature, reasonDaemons},
}
