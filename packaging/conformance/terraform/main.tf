# A cluster with a queue, a task definition, and a service, with what Terraform compares most closely. The variable is what changes.

terraform {
  required_providers {
    aws = { source = "hashicorp/aws" }
  }
}

variable "endpoint" { type = string }
variable "team" { type = string }

provider "aws" {
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_requesting_account_id  = true
  skip_region_validation      = true
  endpoints {
    applicationautoscaling = var.endpoint
    cloudwatch             = var.endpoint
    ec2                    = var.endpoint
    ecs                    = var.endpoint
    elbv2                  = var.endpoint
    logs                   = var.endpoint
    secretsmanager         = var.endpoint
    ssm                    = var.endpoint
  }
}

# Its provider destroys it by "disabled", and forgives ECS that nobody can have that any more.
resource "aws_ecs_account_setting_default" "arns" {
  name  = "taskLongArnFormat"
  value = "enabled"
}

resource "aws_cloudwatch_log_group" "train" {
  name              = "train"
  retention_in_days = var.team == "vision" ? 7 : 14
  tags              = { team = var.team }
}

resource "aws_ecs_cluster" "lab" {
  name = "terraform"
  tags = { team = var.team }

  setting {
    name  = "containerInsights"
    value = var.team == "vision" ? "enabled" : "disabled"
  }
}

resource "aws_ecs_capacity_provider" "night" {
  name = "terraform-night"
  tags = { team = var.team }

  auto_scaling_group_provider {
    auto_scaling_group_arn = "arn:aws:autoscaling:us-east-1:123456789012:autoScalingGroup:11111111-2222-3333-4444-555555555555:autoScalingGroupName/hosts"

    managed_scaling {
      status          = "ENABLED"
      target_capacity = var.team == "vision" ? 100 : 90
    }
  }
}

resource "aws_ecs_cluster_capacity_providers" "lab" {
  cluster_name       = aws_ecs_cluster.lab.name
  capacity_providers = [aws_ecs_capacity_provider.night.name, "PINION"]

  default_capacity_provider_strategy {
    capacity_provider = aws_ecs_capacity_provider.night.name
    base              = 1
    weight            = var.team == "vision" ? 10 : 20
  }
}

resource "aws_ecs_task_definition" "train" {
  family       = "terraform-train"
  network_mode = "bridge"
  cpu          = "1024"
  memory       = "2048"
  tags         = { team = var.team }

  container_definitions = jsonencode([
    {
      name         = "train"
      image        = "pinion/self"
      cpu          = 512
      memory       = 1024
      essential    = true
      command      = ["/pinion", "gpus", "--container"]
      environment  = [{ name = "TEAM", value = var.team }, { name = "A", value = "1" }]
      portMappings = [{ containerPort = 6006 }]
      mountPoints  = [{ sourceVolume = "data", containerPath = "/data", readOnly = true }]
      resourceRequirements = [{ type = "GPU", value = "2" }]
      logConfiguration     = { logDriver = "awslogs", options = { awslogs-group = aws_cloudwatch_log_group.train.name, awslogs-region = "us-east-1", awslogs-stream-prefix = "t" } }
    },
    {
      name        = "watch"
      image       = "pinion/self"
      memory      = 64
      essential   = false
      command     = ["/pinion", "pause"]
      healthCheck = { command = ["CMD", "/pinion", "version"] }
      dependsOn   = [{ containerName = "train", condition = "START" }]
    },
  ])

  volume {
    name      = "data"
    host_path = "/srv/data"
  }

  placement_constraints {
    type       = "memberOf"
    expression = "attribute:rack == r1"
  }
}

resource "aws_ecs_task_definition" "files" {
  family = "terraform-files"

  container_definitions = jsonencode([{
    name        = "reader"
    image       = "pinion/self"
    memory      = 32
    essential   = true
    mountPoints = [{ sourceVolume = "models", containerPath = "/models", readOnly = true }]
  }])

  volume {
    name = "models"
    efs_volume_configuration {
      file_system_id          = "fs-0a1b2c3d"
      root_directory          = "/llm"
      transit_encryption      = "ENABLED"
      transit_encryption_port = 2999
      authorization_config {
        iam = "DISABLED"
      }
    }
  }

  volume {
    name = "all"
    efs_volume_configuration {
      file_system_id = "scratch"
    }
  }
}

resource "aws_ecs_task_definition" "web" {
  family       = "terraform-web"
  network_mode = "bridge"

  container_definitions = jsonencode([{
    name        = "web"
    image       = var.team == "vision" ? "pinion/self" : "pinion/self:latest"
    memory      = 32
    essential   = true
    command     = ["/pinion", "pause"]
    environment = [{ name = "TEAM", value = var.team }]
    portMappings = [{ containerPort = 8000 }]
  }])
}

resource "aws_ecs_service" "web" {
  name                               = "terraform-web"
  cluster                            = "default"
  task_definition                    = aws_ecs_task_definition.web.arn
  desired_count                      = var.team == "vision" ? 2 : 3
  deployment_minimum_healthy_percent = var.team == "vision" ? 100 : 50
  deployment_maximum_percent         = var.team == "vision" ? 200 : 150
  enable_ecs_managed_tags            = true
  propagate_tags                     = "SERVICE"
  health_check_grace_period_seconds  = 10
  wait_for_steady_state              = true
  tags                               = { team = var.team, "pinion.healthy-after" = "1s" }

  deployment_circuit_breaker {
    enable   = true
    rollback = true
  }

  load_balancer {
    target_group_arn = aws_lb_target_group.web.arn
    container_name   = "web"
    container_port   = 8000
  }

  ordered_placement_strategy {
    type  = "spread"
    field = "instanceId"
  }
}

resource "aws_appautoscaling_target" "web" {
  service_namespace  = "ecs"
  scalable_dimension = "ecs:service:DesiredCount"
  resource_id        = "service/default/${aws_ecs_service.web.name}"
  min_capacity       = 1
  max_capacity       = var.team == "vision" ? 6 : 8
  tags               = { team = var.team }
}

resource "aws_appautoscaling_policy" "cpu" {
  name               = "cpu"
  policy_type        = "TargetTrackingScaling"
  service_namespace  = aws_appautoscaling_target.web.service_namespace
  scalable_dimension = aws_appautoscaling_target.web.scalable_dimension
  resource_id        = aws_appautoscaling_target.web.resource_id

  target_tracking_scaling_policy_configuration {
    target_value       = var.team == "vision" ? 60 : 55.5
    scale_out_cooldown = 30

    predefined_metric_specification {
      predefined_metric_type = "ECSServiceAverageCPUUtilization"
    }
  }
}

resource "aws_appautoscaling_policy" "steps" {
  name               = "steps"
  policy_type        = "StepScaling"
  service_namespace  = aws_appautoscaling_target.web.service_namespace
  scalable_dimension = aws_appautoscaling_target.web.scalable_dimension
  resource_id        = aws_appautoscaling_target.web.resource_id

  step_scaling_policy_configuration {
    adjustment_type          = "PercentChangeInCapacity"
    cooldown                 = var.team == "vision" ? 60 : 120
    metric_aggregation_type  = "Maximum"
    min_adjustment_magnitude = 1

    step_adjustment {
      metric_interval_lower_bound = 0
      metric_interval_upper_bound = 15.5
      scaling_adjustment          = 10
    }

    step_adjustment {
      metric_interval_lower_bound = 15.5
      scaling_adjustment          = 50
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "busy" {
  alarm_name          = "terraform-busy"
  alarm_description   = "the tasks of ${aws_ecs_service.web.name} are busy"
  namespace           = "AWS/ECS"
  metric_name         = "CPUUtilization"
  dimensions          = { ClusterName = "default", ServiceName = aws_ecs_service.web.name }
  statistic           = "Average"
  period              = 60
  evaluation_periods  = 3
  datapoints_to_alarm = 2
  comparison_operator = "GreaterThanOrEqualToThreshold"
  threshold           = var.team == "vision" ? 70 : 72.5
  treat_missing_data  = "notBreaching"
  alarm_actions       = [aws_appautoscaling_policy.steps.arn]
  tags                = { team = var.team }
}

resource "aws_cloudwatch_metric_alarm" "queue" {
  alarm_name          = "terraform-queue"
  namespace           = "Pinion"
  metric_name         = "QueueDepth"
  dimensions          = { ClusterName = "default", ServiceName = aws_ecs_service.web.name }
  statistic           = "Maximum"
  period              = 10
  evaluation_periods  = 1
  comparison_operator = "GreaterThanThreshold"
  threshold           = 4
  ok_actions          = var.team == "vision" ? [] : [aws_appautoscaling_policy.steps.arn]
}

resource "aws_appautoscaling_scheduled_action" "night" {
  name               = "night"
  service_namespace  = aws_appautoscaling_target.web.service_namespace
  scalable_dimension = aws_appautoscaling_target.web.scalable_dimension
  resource_id        = aws_appautoscaling_target.web.resource_id
  schedule           = "cron(0 22 1 1 ? 2099)"
  timezone           = "Europe/Berlin"

  scalable_target_action {
    min_capacity = 1
    max_capacity = var.team == "vision" ? 2 : 3
  }
}
