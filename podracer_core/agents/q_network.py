"""A network that values every action, and the frozen copy that its targets come from."""

import torch
from torch import Tensor

from podracer_core.agents.convolution import Encoder, encoder_features, encoder_parameter_count
from podracer_core.agents.networks import Mlp, mlp_sizes, parameter_count
from podracer_core.agents.orthogonal import orthogonal
from podracer_core.envs.image import Image


class QNetwork:
    """obs [batch, observation_dim], or images as `convolution.Encoder` takes them, to values [batch, num_actions].

    dueling: split the last hidden layer into a stream for the state's value and one for the actions' advantages
        (Wang et al. 2016, arXiv 1511.06581); Q = V + A - mean A. Both lie side by side in one network that is
        twice as wide there, with the output weights between them held at 0
    parameters, gradients, target_parameters: [n], all layers
    """

    def __init__(
        self,
        *,
        observation_dim: int,
        num_actions: int,
        hidden_size: int,
        num_layers: int,
        activation: str,
        dueling: bool,
        device: torch.device,
        layer_norm: bool = False,
        image: Image | None = None,
    ) -> None:
        self.num_actions, self.dueling = num_actions, dueling
        sizes = mlp_sizes(encoder_features(image) if image else observation_dim, hidden_size, num_layers, num_actions)
        if dueling:
            sizes[-1] += 1
            if num_layers:
                sizes[-2] *= 2
        lengths = [parameter_count(sizes, layer_norm), encoder_parameter_count(image) if image else 0]
        self.parameters = torch.zeros(sum(lengths), device=device)
        self.gradients = torch.zeros_like(self.parameters)
        self.target_parameters = torch.zeros_like(self.parameters)
        online, encoder = torch.split(self.parameters, lengths)
        online_gradients, encoder_gradients = torch.split(self.gradients, lengths)
        target, target_encoder = torch.split(self.target_parameters, lengths)
        unused = torch.split(torch.empty_like(self.gradients), lengths)
        streams = 2 if dueling else 1
        self._online, self._target = (
            Mlp(sizes, activation, parameters, gradients, layer_norm=layer_norm, streams=streams)
            for parameters, gradients in ((online, online_gradients), (target, unused[0]))
        )
        self._encoder = Encoder(image, encoder, encoder_gradients) if image else None
        self._target_encoder = Encoder(image, target_encoder, unused[1]) if image else None
        self._split = hidden_size if dueling and num_layers else None

    def initialise(self, seed: int) -> None:
        """The same weights for the same seed on every device; the target starts as a copy."""
        generator = torch.Generator().manual_seed(seed)
        if self._encoder:
            self._encoder.initialise(generator)
        self._online.initialise(1.0, generator)
        if self._split is not None:
            output, half, count = self._online.weights[-1], self._split, self.num_actions
            output.zero_()
            output[:half, :count] = orthogonal(torch.Size((half, count)), 1.0, generator)
            output[half:, count:] = orthogonal(torch.Size((half, 1)), 1.0, generator)
        self.target_parameters.copy_(self.parameters)

    def forward(self, obs: Tensor) -> Tensor:
        return self._combined(self._online.forward(self._encoder.forward(obs) if self._encoder else obs))

    def target(self, obs: Tensor) -> Tensor:
        encoder = self._target_encoder
        return self._combined(self._target.forward(encoder.forward(obs) if encoder else obs))

    def best(self, obs: Tensor) -> Tensor:
        """The greedy action, int64 [batch]; the state's value is the same for all of them and need not be known."""
        out = self._online.forward(self._encoder.forward(obs) if self._encoder else obs)
        return out[:, : self.num_actions].argmax(1)

    def forward_keep(self, obs: Tensor) -> Tensor:
        """As `forward`, keeping what `backward` needs."""
        return self._combined(self._online.forward_keep(self._encoder.forward_keep(obs) if self._encoder else obs))

    def backward(self, gradient: Tensor) -> None:
        """gradient: [batch, num_actions] of the loss by each value. Overwrites the gradients."""
        if self.dueling:
            total = gradient.sum(1, keepdim=True)
            gradient = torch.cat((gradient - total / self.num_actions, total), 1)
        first = self._online.backward(gradient)
        if self._encoder:
            self._encoder.backward(self._online.input_gradient(first))
        if self._split is not None:
            output = self._online.weight_gradients[-1]
            output[: self._split, self.num_actions :] = 0
            output[self._split :, : self.num_actions] = 0

    def weight_mask(self) -> Tensor:
        """As networks.Mlp's."""
        masks = [part.weight_mask() for part in (self._online, self._encoder) if part]
        return torch.cat(masks)

    def update_target(self, tau: float) -> None:
        """Moves the target by the share `tau` of its distance; 1 copies."""
        self.target_parameters.lerp_(self.parameters, tau)

    def tensors(self) -> dict[str, Tensor]:
        """By the names of a checkpoint: `q` ranks the actions, by value or, dueling, by advantage; `value` is the
        end of the other stream, on what `q`'s earlier layers make of an observation; `encoder` comes before both."""
        named = {f"q.{name}": tensor for name, tensor in self._online.tensors().items()}
        if self._encoder:
            named |= {f"encoder.{name}": tensor for name, tensor in self._encoder.tensors().items()}
        if not self.dueling:
            return named
        last, count, half = len(self._online.weights) - 1, self.num_actions, self._split
        weight, bias = named[f"q.{last}.weight"], named[f"q.{last}.bias"]
        named[f"q.{last}.weight"], named[f"q.{last}.bias"] = weight[:count, :half], bias[:count]
        named[f"value.{last}.weight"], named[f"value.{last}.bias"] = weight[count:, half or 0 :], bias[count:]
        if half is not None:
            for part in ("weight", "bias", *(("norm.weight", "norm.bias") if self._online.norms else ())):
                both = named[f"q.{last - 1}.{part}"]
                named[f"q.{last - 1}.{part}"], named[f"value.{last - 1}.{part}"] = both[:half], both[half:]
        return named

    def _combined(self, out: Tensor) -> Tensor:
        if not self.dueling:
            return out
        advantage, value = out[:, : self.num_actions], out[:, self.num_actions :]
        return advantage - advantage.mean(1, keepdim=True) + value
