"""What MLflow's own client finds at the server."""

from answering import answer
from mlflow import MlflowClient


def respond(request):
    client = MlflowClient(tracking_uri=request["server"])
    experiment = client.get_experiment_by_name(request["experiment"])
    runs = client.search_runs([experiment.experiment_id])
    return [
        {
            "name": run.info.run_name,
            "status": run.info.status,
            "params": run.data.params,
            "tags": run.data.tags,
            "metrics": {
                # As text: JSON has no NaN.
                key: [[metric.step, repr(metric.value)] for metric in client.get_metric_history(run.info.run_id, key)]
                for key in run.data.metrics
            },
        }
        for run in runs
    ]


answer(respond)
